// SPDX-License-Identifier: Apache-2.0
//
// The expected spread of packs dealt at random, against packs that are dealt at random; steps
// grouped by source stand out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "omnibal/base/philox.h"
#include "omnibal/metrics/source_mix.h"

namespace omnibal::metrics {
namespace {

struct Made {
  std::vector<std::uint32_t> vision, tokens, members;
  std::vector<std::uint16_t> source;
  std::vector<std::int64_t> offsets{0}, ids;
  std::int64_t num_sources = 3;

  SourcedSamples samples() const { return {{vision, tokens}, source, num_sources}; }
  GroupView packs() const { return {offsets, members}; }
};

/// `num_packs` packs of 1 to 6 samples, mostly of one source each.
Made make_packs(PhiloxRng& rng, std::int64_t num_packs) {
  Made made;
  for (std::int64_t p = 0; p < num_packs; ++p) {
    const std::uint32_t main_source = rng.below(4) == 0 ? 1 + rng.below(2) : 0;
    for (std::uint32_t i = 1 + rng.below(6); i > 0; --i) {
      made.members.push_back(static_cast<std::uint32_t>(made.members.size()));
      const bool mainly = rng.below(3) > 0;
      made.source.push_back(static_cast<std::uint16_t>(mainly ? main_source : rng.below(3)));
      made.vision.push_back(1 + rng.below(9));
      made.tokens.push_back(100 + rng.below(900) * (1 + made.source.back()));
    }
    made.offsets.push_back(static_cast<std::int64_t>(made.members.size()));
    made.ids.push_back(p);
  }
  return made;
}

TEST(SourceMixProperty, RandomDealingHasTheExpectedSpread) {
  PhiloxRng rng(31, RngStream::kTest);
  Made made = make_packs(rng, 640);
  constexpr int kDeals = 200;
  constexpr std::int64_t kSteps = 20;
  std::vector<double> variance(3, 0);
  SourceMix mix;
  double against = 0;
  for (int deal = 0; deal < kDeals; ++deal) {
    shuffle(std::span(made.ids), rng);
    mix = source_mix({made.ids, kSteps, 4}, made.packs(), made.samples());
    for (std::size_t s = 0; s < 3; ++s) {
      const double std = mix.steps.tokens.sources[s].std;
      variance[s] += std * std / kDeals;
    }
    against += mix.steps.tokens.against_random / kDeals;
  }
  for (std::size_t s = 0; s < 3; ++s) {
    const double expected = mix.steps.tokens.sources[s].random_std;
    EXPECT_GT(expected, 0.005);
    EXPECT_NEAR(std::sqrt(variance[s]) / expected, 1, 0.05);
  }
  EXPECT_NEAR(against, 1, 0.05);
  std::ranges::stable_sort(made.ids, {}, [&](std::int64_t pack) {
    return made.source[made.members[static_cast<std::size_t>(
        made.offsets[static_cast<std::size_t>(pack)])]];
  });
  mix = source_mix({made.ids, kSteps, 4}, made.packs(), made.samples());
  EXPECT_GT(mix.steps.samples.against_random, 3);
  EXPECT_GT(mix.windows.samples.against_random, 3);
}

/// [steps, sources], added up sample by sample.
std::vector<SourceTotals> rows_of(const Made& made, std::size_t steps) {
  const auto sources = static_cast<std::size_t>(made.num_sources);
  std::vector<SourceTotals> rows(steps * sources);
  const std::size_t width = made.ids.size() / steps;
  for (std::size_t k = 0; k < made.ids.size(); ++k) {
    for (const std::uint32_t i : made.packs()[made.ids[k]]) {
      SourceTotals& row = rows[k / width * sources + made.source[i]];
      row.samples += 1;
      row.vision_units += made.vision[i];
      row.tokens += made.tokens[i];
    }
  }
  return rows;
}

/// Shares of one source in `samples`, step by step, straight from the rows.
std::vector<double> shares_of(const std::vector<SourceTotals>& rows, std::size_t num_sources,
                              std::size_t source, std::size_t steps_together,
                              std::int64_t SourceTotals::*part) {
  std::vector<double> shares;
  const std::size_t steps = rows.size() / num_sources;
  for (std::size_t first = 0; first + steps_together <= steps; first += steps_together) {
    std::int64_t own = 0, all = 0;
    for (std::size_t step = first; step < first + steps_together; ++step) {
      for (std::size_t s = 0; s < num_sources; ++s) {
        all += rows[step * num_sources + s].*part;
        if (s == source) own += rows[step * num_sources + s].*part;
      }
    }
    shares.push_back(all > 0 ? static_cast<double>(own) / static_cast<double>(all) : 0);
  }
  return shares;
}

void expect_spread(const MixLevel& level, const std::vector<SourceTotals>& rows,
                   std::size_t together) {
  const std::size_t num_sources = level.samples.sources.size();
  double largest = 0;
  for (std::size_t s = 0; s < num_sources; ++s) {
    const auto shares = shares_of(rows, num_sources, s, together, &SourceTotals::samples);
    const ShareSpread& spread = level.samples.sources[s];
    ASSERT_EQ(level.count, static_cast<std::int64_t>(shares.size()));
    const auto count = static_cast<double>(shares.size());
    const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / count;
    double squares = 0;
    for (const double share : shares) {
      squares += (share - mean) * (share - mean);
      largest = std::max(largest, std::abs(share - spread.share));
    }
    EXPECT_NEAR(spread.mean, mean, 1e-12);
    EXPECT_NEAR(spread.std, std::sqrt(squares / count), 1e-7);
    EXPECT_DOUBLE_EQ(spread.min, *std::ranges::min_element(shares));
    EXPECT_DOUBLE_EQ(spread.max, *std::ranges::max_element(shares));
  }
  EXPECT_NEAR(level.samples.largest_deviation, largest, 1e-12);
}

TEST(SourceMixProperty, SpreadsAreThoseOfTheStepsRows) {
  for (std::uint32_t round = 0; round < 60; ++round) {
    PhiloxRng rng(32, RngStream::kTest, round);
    const std::int64_t steps = 1 + rng.below(12);
    const std::int64_t width = 1 + rng.below(7);
    Made made = make_packs(rng, steps * width);
    made.num_sources = 3 + rng.below(3);  // some without any sample
    shuffle(std::span(made.ids), rng);
    const std::int64_t together = 1 + rng.below(static_cast<std::uint32_t>(steps));
    const auto rows = rows_of(made, static_cast<std::size_t>(steps));
    const SourceMix mix = source_mix({made.ids, steps, together}, made.packs(), made.samples());
    EXPECT_EQ(mix.step_totals, rows);
    expect_spread(mix.steps, rows, 1);
    expect_spread(mix.windows, rows, static_cast<std::size_t>(together));
    std::vector<SourceTotals> sums(static_cast<std::size_t>(made.num_sources));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SourceTotals& sum = sums[i % sums.size()];
      sum = {sum.samples + rows[i].samples, sum.vision_units + rows[i].vision_units,
             sum.tokens + rows[i].tokens};
    }
    EXPECT_EQ(sums, source_totals(made.samples()));
  }
}

}  // namespace
}  // namespace omnibal::metrics
