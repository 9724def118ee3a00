// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/synth.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>

#include "codec/scratch_directory.h"
#include "omnibal/corpus/stats.h"

namespace omnibal::corpus {
namespace {

using testing::HasSubstr;

Recipe preset(std::string_view name) { return *preset_recipe(name); }

std::size_t num_parts(const Recipe& recipe) {
  std::size_t parts = 0;
  for (const Dataset& dataset : recipe.datasets) parts += dataset.parts.size();
  return parts;
}

TEST(CorpusSynth, PresetsHaveTheSizesOfTheirDataSets) {
  const Recipe internvl = preset("internvl-1.2m");
  EXPECT_EQ(num_samples(internvl), 1'267'819);
  EXPECT_EQ(num_parts(internvl), 16U);
  ASSERT_EQ(internvl.datasets.size(), 9U);
  EXPECT_EQ(internvl.datasets[8].name, "mix");
  EXPECT_EQ(internvl.datasets[8].parts.size(), 6U);
  EXPECT_EQ(internvl.datasets[7].parts.size(), 3U);
  EXPECT_EQ(num_samples(preset("llava-665k")), 665'298);
  EXPECT_EQ(num_samples(preset("lcs-558k")), 558'128);
  const Error unknown = preset_recipe("internvl").error();
  EXPECT_EQ(unknown.code, ErrorCode::kUnknownPreset);
  EXPECT_THAT(unknown.hint, HasSubstr("internvl-1.2m"));
}

// paper.md: mean 2.15 tiles, 832 +- 379 tokens; 50,000 samples keep that within sampling error.
TEST(CorpusSynth, InternvlHasTheMomentsOfItsRecipe) {
  const Corpus corpus = synthesize(scale_recipe(preset("internvl-1.2m"), 50'000), 1, 1);
  const CorpusStats stats = corpus_stats(corpus);
  const double tiles = static_cast<double>(stats.vision.total + stats.dummy_vision.total) / 50'000;
  EXPECT_NEAR(tiles, 2.148, 5 * 1.4 / std::sqrt(50'000));
  EXPECT_NEAR(stats.tokens.mean, 832, 5 * 379 / std::sqrt(50'000));
  EXPECT_NEAR(stats.tokens.std, 379.5, 15);
  EXPECT_EQ(stats.text_only, 1605);  // 40,688 of 1,267,819
}

Recipe one_part(Part part) {
  return {.name = "x", .unit = {}, .datasets = {{"d", {std::move(part)}}}};
}

TEST(CorpusSynth, TextIsLogNormalWithItsOwnMeanAndDeviation) {
  const Corpus corpus = synthesize(one_part({"p", 100'000, {}, {200, 100, 1, 100'000}}), 3, 1);
  const ColumnSummary tokens = corpus_stats(corpus).tokens;
  EXPECT_NEAR(tokens.mean, 200, 5 * 100 / std::sqrt(100'000));
  EXPECT_NEAR(tokens.std, 100, 3);
  // The median of a log-normal is exp(mu) = mean / sqrt(1 + (std/mean)^2).
  EXPECT_NEAR(static_cast<double>(tokens.p50), 200 / std::sqrt(1.25), 2);
}

TEST(CorpusSynth, TextStaysWithinItsBoundsAndTokensUnderTheMaximum) {
  Recipe recipe = one_part({"p", 20'000, {{5, 1}}, {1000, 900, 40, 4096}});
  const Corpus corpus = synthesize(recipe, 0, 1);
  const ColumnSummary tokens = corpus_stats(corpus).tokens;
  EXPECT_GE(tokens.min, 40 + 1280);
  EXPECT_EQ(tokens.max, 4096);
  const Corpus text = synthesize(one_part({"p", 20'000, {}, {100, 80, 60, 140}}), 0, 1);
  EXPECT_EQ(corpus_stats(text).tokens.min, 60);
  EXPECT_EQ(corpus_stats(text).tokens.max, 140);
  const Corpus fixed = synthesize(one_part({"p", 100, {}, {100, 0, 1, 200}}), 0, 1);
  EXPECT_EQ(corpus_stats(fixed).tokens.min, 100);
  EXPECT_EQ(corpus_stats(fixed).tokens.max, 100);
}

TEST(CorpusSynth, UnitsFollowTheirNormalisedWeights) {
  const Corpus corpus =
      synthesize(one_part({"p", 50'000, {{1, 1}, {3, 2}, {7, 0}, {12, 5}}, {50, 0, 1, 99}}), 0, 1);
  std::map<std::uint32_t, int> counts;
  for (const std::uint32_t units : corpus.vision) ++counts[units];
  EXPECT_EQ(counts.size(), 3U);
  EXPECT_NEAR(counts[1] / 50'000.0, 1 / 8.0, 0.01);
  EXPECT_NEAR(counts[3] / 50'000.0, 2 / 8.0, 0.01);
  EXPECT_NEAR(counts[12] / 50'000.0, 5 / 8.0, 0.01);
}

TEST(CorpusSynth, TextOnlySamplesCarryABlankUnitWithoutTokens) {
  const Corpus corpus = synthesize(one_part({"p", 10, {}, {100, 0, 1, 200}}), 0, 1);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(corpus.vision[i], 1U);
    EXPECT_EQ(corpus.dummy_vision[i], 1);
    EXPECT_EQ(corpus.supervised[i], corpus.tokens[i]);
  }
}

TEST(CorpusSynth, TheSameForAnyNumberOfThreadsAndAnotherForAnotherSeed) {
  const Recipe recipe = scale_recipe(preset("internvl-1.2m"), 20'000);
  const std::string one = content_hash(synthesize(recipe, 0, 1));
  EXPECT_EQ(content_hash(synthesize(recipe, 0, 2)), one);
  EXPECT_EQ(content_hash(synthesize(recipe, 0, 7)), one);
  EXPECT_NE(content_hash(synthesize(recipe, 1, 1)), one);
}

// The meaning of a seed: a change here changes every published figure on synthetic corpora.
TEST(CorpusSynth, GoldenHashes) {
  const auto hash_of = [](std::string_view name) {
    return content_hash(synthesize(scale_recipe(preset(name), 10'000), 0, 0));
  };
  EXPECT_EQ(hash_of("internvl-1.2m"), "332c6dd460ecfff3713d14a632d86925");
  EXPECT_EQ(hash_of("llava-665k"), "e13fca1ef96b9952ce5e30e9e9a76445");
  EXPECT_EQ(hash_of("lcs-558k"), "f9c13cf338bd4750aa0d0db24077dfb3");
}

TEST(CorpusSynth, PartsOfADatasetAreShuffledTogetherAndDatasetsKeepTheirOrder) {
  Recipe recipe = {
      .name = "x",
      .unit = {},
      .datasets = {
          {"first", {{"a", 500, {{1, 1}}, {50, 0, 1, 99}}}},
          {"mixed", {{"b", 500, {{2, 1}}, {50, 0, 1, 99}}, {"c", 500, {{3, 1}}, {50, 0, 1, 99}}}}}};
  const Corpus corpus = synthesize(recipe, 0, 1);
  ASSERT_EQ(corpus.sources.size(), 2U);
  EXPECT_EQ(corpus.sources[1].num_samples, 1000);
  const std::vector<std::uint32_t> mixed(corpus.vision.begin() + 500, corpus.vision.end());
  EXPECT_EQ(std::count(mixed.begin(), mixed.end(), 2U), 500);
  EXPECT_NEAR(static_cast<double>(std::count(mixed.begin(), mixed.begin() + 500, 2U)), 250, 60);
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(corpus.vision[i], 1U);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(corpus.source[500 + i], 1);
    EXPECT_EQ(corpus.row[500 + i], i);
  }
}

TEST(CorpusSynth, ScalingIsByLargestRemainder) {
  Recipe recipe = {
      .name = "x",
      .unit = {},
      .datasets = {{"a", {{"a", 50, {}, {}}, {"b", 30, {}, {}}}}, {"c", {{"c", 20, {}, {}}}}}};
  const auto sizes = [&](std::int64_t samples) {
    const Recipe scaled = scale_recipe(recipe, samples);
    return std::vector<std::int64_t>{scaled.datasets[0].parts[0].samples,
                                     scaled.datasets[0].parts[1].samples,
                                     scaled.datasets[1].parts[0].samples};
  };
  EXPECT_THAT(sizes(100), testing::ElementsAre(50, 30, 20));
  EXPECT_THAT(sizes(10), testing::ElementsAre(5, 3, 2));
  EXPECT_THAT(sizes(11), testing::ElementsAre(6, 3, 2));  // 5.5 3.3 2.2
  EXPECT_THAT(sizes(1), testing::ElementsAre(1, 0, 0));
  EXPECT_THAT(sizes(2), testing::ElementsAre(1, 1, 0));  // 1.0 0.6 0.4
  EXPECT_THAT(sizes(2'000'000'000), testing::ElementsAre(1'000'000'000, 600'000'000, 400'000'000));
}

TEST(CorpusSynth, ScalingAlwaysAddsUp) {
  for (std::int64_t samples = 1; samples < 3000; samples += 37) {
    EXPECT_EQ(num_samples(scale_recipe(preset("internvl-1.2m"), samples)), samples);
  }
}

}  // namespace
}  // namespace omnibal::corpus
