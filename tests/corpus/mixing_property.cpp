// SPDX-License-Identifier: Apache-2.0
//
// Random sources, repeats and weights: every count is exact, no row comes once too often, and what
// is drawn follows the seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "codec/scratch_directory.h"
#include "corpus/drawing.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {
namespace {

using codec::Json;

/// Lists of `sizes` rows, each with a length of its own, in a wrapper with these keys.
std::string write_wrapper(const ScratchDirectory& scratch, const std::vector<std::int64_t>& sizes,
                          const std::vector<Json>& keys) {
  Json wrapper = Json::object();
  std::uint32_t tokens = 300;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    Json rows = Json::array();
    for (std::int64_t i = 0; i < sizes[s]; ++i) {
      rows.push_back({{"vit_num", 1}, {"token_num", tokens++}, {"image_flags", 1}});
    }
    const std::string name = fmt::format("s{}", s);
    scratch.write(name + ".json", rows.dump());
    wrapper[name] = keys[s];
    wrapper[name]["token_lengths"] = name + ".json";
  }
  return scratch.write("w.json", wrapper.dump());
}

/// How often each row of a source stands in the corpus, and whether it stands in passes: every pass
/// has ascending rows, each also in the pass before.
std::vector<std::int64_t> counts_of_rows(const Corpus& corpus, std::size_t source,
                                         std::int64_t rows) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows), 0);
  std::int64_t before = -1;
  std::set<std::int64_t> last, pass;
  bool first_pass = true;
  for (std::size_t i = 0; i < corpus.row.size(); ++i) {
    if (corpus.source[i] != source) continue;
    const std::int64_t row = corpus.row[i];
    if (row <= before) {
      last.swap(pass);
      pass.clear();
      first_pass = false;
    }
    EXPECT_TRUE(first_pass || last.contains(row)) << "row " << row << " skipped a repeat";
    pass.insert(row);
    before = row;
    ++counts[static_cast<std::size_t>(row)];
  }
  return counts;
}

/// A row's lengths are those of its own source: offsets are right.
void expect_own_rows(const Corpus& corpus, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> first(sizes.size(), 300);
  for (std::size_t s = 1; s < sizes.size(); ++s) first[s] = first[s - 1] + sizes[s - 1];
  for (std::size_t i = 0; i < corpus.row.size(); ++i) {
    ASSERT_EQ(corpus.tokens[i], first[corpus.source[i]] + corpus.row[i]);
    ASSERT_EQ(corpus.supervised[i], corpus.tokens[i] - 256);
  }
  ASSERT_TRUE(std::ranges::is_sorted(corpus.source));
}

void expect_even(const Corpus& corpus, std::size_t source, std::int64_t rows) {
  const std::vector<std::int64_t> counts = counts_of_rows(corpus, source, rows);
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto [least, most] = std::ranges::minmax(counts);
  EXPECT_EQ(least, sum / rows);
  EXPECT_EQ(most, (sum + rows - 1) / rows);
  EXPECT_EQ(sum, corpus.sources[source].num_samples);
  EXPECT_EQ(std::ranges::count(counts, 0), corpus.sources[source].left_out);
  EXPECT_EQ(rows, corpus.sources[source].given());
}

struct Made {
  std::vector<std::int64_t> sizes;
  std::vector<Json> keys;
};

Made random_sources(PhiloxRng& rng) {
  Made made;
  for (std::uint32_t s = 0; s < 1 + rng.below(5); ++s) {
    made.sizes.push_back(1 + rng.below(60));
    made.keys.push_back({{"repeat", (1 + rng.below(400)) / 100.0}});
  }
  return made;
}

TEST(CorpusMixingProperty, FractionalRepeatsAreWholeCopiesAndASubset) {
  const ScratchDirectory scratch;
  for (std::uint32_t round = 0; round < 60; ++round) {
    PhiloxRng rng(21, RngStream::kTest, round);
    const Made made = random_sources(rng);
    const std::string path = write_wrapper(scratch, made.sizes, made.keys);
    const auto loaded = read_corpus({{path, ""}}, {.mixture = {.seed = round}}, {});
    std::int64_t total = 0;
    for (std::size_t s = 0; s < made.sizes.size(); ++s) {
      const double wanted =
          static_cast<double>(made.sizes[s]) * made.keys[s]["repeat"].get<double>();
      total += static_cast<std::int64_t>(std::floor(wanted + 0.5));
    }
    if (total == 0) {
      EXPECT_FALSE(loaded.ok());
      continue;
    }
    ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
    EXPECT_EQ(loaded->corpus.size(), total);
    expect_own_rows(loaded->corpus, made.sizes);
    for (std::size_t s = 0; s < made.sizes.size(); ++s) {
      expect_even(loaded->corpus, s, made.sizes[s]);
      EXPECT_EQ(Json(loaded->corpus.sources[s].repeat), made.keys[s]["repeat"]);
    }
  }
}

TEST(CorpusMixingProperty, SharesAddUpAndAreWithinOneOfTheirQuota) {
  for (std::uint32_t round = 0; round < 2000; ++round) {
    PhiloxRng rng(22, RngStream::kTest, round);
    std::vector<SourceSize> sizes(1 + rng.below(9));
    for (SourceSize& size : sizes) {
      size = {.rows = 1.0 + rng.below(round % 2 == 0 ? 5 : 2'000'000),
              .repeat = (1 + rng.below(30)) / 10.0,
              .weight = round % 3 == 0 ? 1 : std::pow(10, rng.below(13) * 1.0 - 6)};
    }
    MixtureOptions options;
    if (round % 4 != 1) options.temperature = std::pow(2, rng.below(12) * 1.0 - 4);
    if (round % 5 != 2) options.epoch_samples = 1 + rng.below(3'000'000);
    const std::vector<std::int64_t> counts = samples_of_sources(sizes, options);
    const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    if (options.epoch_samples) {
      EXPECT_EQ(sum, *options.epoch_samples);
    }
    if (!is_drawn(sizes, options)) continue;
    const bool weighted =
        std::ranges::any_of(sizes, [](const SourceSize& size) { return size.weight != 1; });
    // Sizes count only with a temperature, or where no weight does.
    const double power = options.temperature ? 1 / *options.temperature : weighted ? 0 : 1;
    std::vector<double> masses;
    for (const SourceSize& size : sizes) {
      masses.push_back(size.weight * std::pow(size.rows * size.repeat / 1e6, power));
    }
    const double all = std::accumulate(masses.begin(), masses.end(), 0.0);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const double quota = static_cast<double>(sum) * masses[s] / all;
      EXPECT_LT(std::abs(static_cast<double>(counts[s]) - quota), 1 + 1e-6) << round;
    }
  }
}

TEST(CorpusMixingProperty, DrawnSourcesHaveTheirShareAndNoRowTwiceAsOftenAsAnother) {
  const ScratchDirectory scratch;
  for (std::uint32_t round = 0; round < 60; ++round) {
    PhiloxRng rng(23, RngStream::kTest, round);
    const Made made = random_sources(rng);
    ReadOptions options{.mixture = {.epoch_samples = 1 + rng.below(300), .seed = round}};
    options.mixture.weights = {{"s0", 0.5 + rng.below(4)}};
    const std::string path = write_wrapper(scratch, made.sizes, made.keys);
    const auto loaded = read_corpus({{path, ""}}, options, {});
    ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
    EXPECT_EQ(loaded->corpus.size(), *options.mixture.epoch_samples);
    expect_own_rows(loaded->corpus, made.sizes);
    for (std::size_t s = 0; s < made.sizes.size(); ++s) {
      expect_even(loaded->corpus, s, made.sizes[s]);
      EXPECT_NEAR(loaded->corpus.sources[s].repeat * static_cast<double>(made.sizes[s]),
                  static_cast<double>(loaded->corpus.sources[s].num_samples), 1e-9);
    }
  }
}

TEST(CorpusMixingProperty, ASubsetFollowsTheSeedAndEveryRowIsAsLikely) {
  constexpr std::int64_t kRows = 30;
  constexpr std::int64_t kCount = 12;
  constexpr std::uint32_t kSeeds = 4000;
  std::vector<std::int64_t> taken(kRows, 0);
  std::set<std::vector<std::uint32_t>> different;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<std::uint32_t> order, again;
    PhiloxRng rng(seed, RngStream::kMixture), same(seed, RngStream::kMixture);
    EXPECT_EQ(draw_evenly(kRows, kCount, 0, rng, order), kRows - kCount);
    draw_evenly(kRows, kCount, 0, same, again);
    EXPECT_EQ(order, again);
    ASSERT_EQ(std::set(order.begin(), order.end()).size(), std::size_t{kCount});
    for (const std::uint32_t row : order) ++taken[row];
    different.insert(order);
  }
  EXPECT_GT(different.size(), kSeeds * 99 / 100);
  const double mean = kSeeds * kCount / double{kRows};
  for (const std::int64_t count : taken) {
    EXPECT_NEAR(static_cast<double>(count), mean, 5 * std::sqrt(mean));
  }
}

TEST(CorpusMixingProperty, WeightedRowsComeAsOftenAsTheirWeightSays) {
  for (std::uint32_t round = 0; round < 40; ++round) {
    PhiloxRng rng(24, RngStream::kTest, round);
    std::vector<RowWeight> weights(1 + rng.below(40));
    for (RowWeight& weight : weights) {
      weight = rng.below(3) == 0 ? 0 : to_row_weight(rng.uniform() * (rng.below(4) == 0 ? 9 : 1));
    }
    weights[0] = kUnitWeight;
    const std::int64_t count = 1 + rng.below(90);
    const double sum = total_weight(weights);
    std::vector<double> mean(weights.size(), 0);
    constexpr std::uint32_t kSeeds = 300;
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      std::vector<std::uint32_t> order;
      PhiloxRng draw(seed, RngStream::kMixture, round);
      const std::int64_t left_out = draw_by_weight(weights, count, 0, draw, order);
      ASSERT_EQ(order.size(), static_cast<std::size_t>(count));
      std::vector<std::int64_t> times(weights.size(), 0);
      for (const std::uint32_t row : order) ++times[row];
      EXPECT_EQ(std::ranges::count(times, 0), left_out);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double expected =
            static_cast<double>(count) * (static_cast<double>(weights[i]) / 0x1p32) / sum;
        EXPECT_LT(std::abs(static_cast<double>(times[i]) - expected), 1 + 1e-9);
        mean[i] += static_cast<double>(times[i]) / kSeeds;
        if (seed + 1 == kSeeds) {
          EXPECT_NEAR(mean[i], expected, 0.2);
        }
      }
    }
  }
}

TEST(CorpusMixingProperty, AMixtureThatWasWrittenIsReadAsItIs) {
  const ScratchDirectory scratch;
  for (std::uint32_t round = 0; round < 20; ++round) {
    PhiloxRng rng(25, RngStream::kTest, round);
    Made made = random_sources(rng);
    made.keys[0]["repeat"] = 2.5;
    made.keys[0]["weight"] = round % 2 == 0 ? 1 : 0.3;
    const std::string path = write_wrapper(scratch, made.sizes, made.keys);
    const auto mixed = read_corpus({{path, ""}}, {.mixture = {.seed = round}}, {});
    ASSERT_TRUE(mixed.ok()) << to_text(mixed.error());
    ASSERT_TRUE(write_corpus(mixed->corpus, scratch / "corpus").ok());
    const auto again = read_corpus({{scratch / "corpus", ""}}, {}, {});
    ASSERT_TRUE(again.ok()) << to_text(again.error());
    EXPECT_EQ(content_hash(again->corpus), content_hash(mixed->corpus));
    EXPECT_EQ(describe(again->corpus), describe(mixed->corpus));
  }
}

}  // namespace
}  // namespace omnibal::corpus
