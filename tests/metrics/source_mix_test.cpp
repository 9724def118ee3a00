// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/source_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace omnibal::metrics {
namespace {

using testing::ElementsAre;

/// Six samples of two sources in three packs.
struct Example {
  std::vector<std::uint32_t> vision{1, 5, 1, 3, 2, 0};
  std::vector<std::uint32_t> tokens{100, 500, 200, 300, 400, 50};
  std::vector<std::uint16_t> source{0, 1, 0, 1, 1, 0};
  std::vector<std::int64_t> offsets{0, 2, 3, 5};
  std::vector<std::uint32_t> members{0, 1, 2, 3, 4};  // 5 is in no pack

  SourcedSamples samples() const { return {{vision, tokens}, source, 2}; }
  GroupView packs() const { return {offsets, members}; }
};

TEST(SourceTotals, OfAllAndOfThePlaced) {
  const Example example;
  EXPECT_THAT(source_totals(example.samples()),
              ElementsAre(SourceTotals{3, 2, 350}, SourceTotals{3, 10, 1200}));
  EXPECT_THAT(source_totals(example.samples(), example.members),
              ElementsAre(SourceTotals{2, 2, 300}, SourceTotals{3, 10, 1200}));
}

TEST(SourceMix, CountsEveryStepAndLeavesZeroWeightPacksEmpty) {
  const Example example;
  const std::vector<std::int64_t> ids{2, 0, 1, -1};
  EXPECT_THAT(source_mix({ids, 2, 1}, example.packs(), example.samples()).step_totals,
              ElementsAre(SourceTotals{1, 1, 100}, SourceTotals{3, 10, 1200},
                          SourceTotals{1, 1, 200}, SourceTotals{0, 0, 0}));
}

TEST(SourceMix, SharesOfEachStep) {
  const Example example;
  const std::vector<std::int64_t> ids{2, 0, 1};  // a pack a step
  const SourceMix mix = source_mix({ids, 3, 2}, example.packs(), example.samples());
  EXPECT_EQ(mix.steps.count, 3);
  const ShareSpread& first = mix.steps.samples.sources[0];  // shares 0, 1/2, 1
  EXPECT_DOUBLE_EQ(first.share, 0.4);
  EXPECT_DOUBLE_EQ(first.mean, 0.5);
  EXPECT_NEAR(first.std, std::sqrt(1.0 / 6), 1e-15);
  EXPECT_EQ(first.min, 0);
  EXPECT_EQ(first.max, 1);
  EXPECT_DOUBLE_EQ(mix.steps.samples.largest_deviation, 0.6);
  EXPECT_EQ(mix.steps.samples.deviating_source, 0);
  const ShareSpread& tokens = mix.steps.tokens.sources[1];  // shares 1, 5/6, 0
  EXPECT_DOUBLE_EQ(tokens.share, 0.8);
  EXPECT_DOUBLE_EQ(tokens.max, 1);
  EXPECT_DOUBLE_EQ(tokens.mean, (1 + 5.0 / 6) / 3);
  // One window of two steps; the third step is in none.
  EXPECT_EQ(mix.windows.count, 1);
  EXPECT_DOUBLE_EQ(mix.windows.samples.sources[0].mean, 0.25);
}

TEST(SourceMix, StepsWithZeroWeightPacksAreLeftOut) {
  const Example example;
  const std::vector<std::int64_t> ids{2, 0, 1, -1};
  const SourceMix mix = source_mix({ids, 2, 1}, example.packs(), example.samples());
  EXPECT_EQ(mix.steps.count, 1);
  EXPECT_EQ(mix.windows.count, 1);
  EXPECT_DOUBLE_EQ(mix.steps.samples.sources[0].mean, 0.25);
  EXPECT_DOUBLE_EQ(mix.steps.samples.sources[0].share, 0.4) << "of all that runs";
}

TEST(SourceMix, OneSourceIsEverywhere) {
  Example example;
  example.source.assign(6, 0);
  SourcedSamples samples = example.samples();
  samples.num_sources = 1;
  const std::vector<std::int64_t> ids{0, 1, 2};
  const SourceMix mix = source_mix({ids, 3, 1}, example.packs(), samples);
  EXPECT_EQ(mix.steps.samples.sources[0].std, 0);
  EXPECT_EQ(mix.steps.samples.against_random, 1);
  EXPECT_EQ(mix.steps.samples.largest_deviation, 0);
}

TEST(SourceMix, NoWholeStepIsNoSpread) {
  const Example example;
  const std::vector<std::int64_t> ids{0, 1, 2, -1};
  const SourceMix mix = source_mix({ids, 1, 1}, example.packs(), example.samples());
  EXPECT_EQ(mix.steps.count, 0);
  EXPECT_EQ(mix.steps.samples.largest_deviation, 0);
  EXPECT_EQ(mix.steps.samples.sources[1].std, 0);
}

}  // namespace
}  // namespace omnibal::metrics
