// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/levelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pack/placement.h"

namespace omnibal::pack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<std::int64_t> tokens_of(const Packs& packs, const TestSamples& samples) {
  std::vector<std::int64_t> tokens;
  for (const metrics::PackLoad& load : metrics::packed_loads(packs.view(), samples.columns())) {
    tokens.push_back(load.tokens);
  }
  return tokens;
}

TEST(LevelPacks, ExchangesUntilLoadsAreEqual) {
  TestSamples samples;
  samples.add(1, 1000, 2);
  samples.add(1, 500, 2);
  Packs packs{.offsets = {0, 2, 4}, .samples = {0, 1, 2, 3}};
  level_packs(samples.columns(), PackLimits::with_paper_floors(2, 4096), 1, packs);
  EXPECT_THAT(tokens_of(packs, samples), Each(1500));
  EXPECT_THAT(packs.offsets, ElementsAre(0, 2, 4));
}

TEST(LevelPacks, LevelsVisionUnitsToo) {
  TestSamples samples;
  samples.add(5, 1000, 2);
  samples.add(1, 1000, 2);
  Packs packs{.offsets = {0, 2, 4}, .samples = {0, 1, 2, 3}};
  level_packs(samples.columns(), PackLimits::with_paper_floors(12, 4096), 1, packs);
  for (const metrics::PackLoad& load : metrics::packed_loads(packs.view(), samples.columns())) {
    EXPECT_EQ(load.vision_units, 6);
  }
}

TEST(LevelPacks, PassesNoCapForBalance) {
  // Tokens would be level with 5 + 5 units in one pack, one more than it may hold.
  TestSamples samples;
  samples.add(5, 2000);
  samples.add(4, 2000);
  samples.add(5, 100);
  samples.add(4, 100);
  Packs packs{.offsets = {0, 2, 4}, .samples = {0, 1, 2, 3}};
  level_packs(samples.columns(), PackLimits::with_paper_floors(9, 4096), 1, packs);
  EXPECT_THAT(tokens_of(packs, samples), Each(2100));
  for (const metrics::PackLoad& load : metrics::packed_loads(packs.view(), samples.columns())) {
    EXPECT_EQ(load.vision_units, 9);
  }
}

TEST(LevelPacks, LeavesPacksOfOneSampleAlone) {
  TestSamples samples;
  samples.add(1, 4096);
  samples.add(1, 10);
  Packs packs{.offsets = {0, 1, 2}, .samples = {0, 1}};
  level_packs(samples.columns(), PackLimits::with_paper_floors(9, 4096), 1, packs);
  EXPECT_THAT(packs.samples, ElementsAre(0, 1));
}

TEST(LevelPacks, SamplesWithoutVisionUnitsOrTokensAreNoTrouble) {
  TestSamples samples;
  samples.add(0, 0, 4);
  Packs packs{.offsets = {0, 2, 4}, .samples = {0, 1, 2, 3}};
  level_packs(samples.columns(), PackLimits::with_paper_floors(9, 4096), 1, packs);
  EXPECT_THAT(packs.samples, ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace omnibal::pack
