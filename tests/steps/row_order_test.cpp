// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/row_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_loads.h"

namespace omnibal::steps {
namespace {

using ::testing::ElementsAre;

TEST(RowOrder, LightestFirstNextLastHeaviestInTheMiddle) {
  EXPECT_THAT(light_ends(std::vector{5.0, 1.0, 4.0, 2.0}), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(light_ends(std::vector{3.0, 3.0, 3.0}), ElementsAre(0, 2, 1));
}

TEST(RowOrder, MovesWholeRowsAndLeavesThoseOfZeroWeightPacksWhereTheyAre) {
  const std::vector<metrics::PackLoad> loads = {{.tokens = 5}, {.tokens = 5}, {.tokens = 1},
                                                {.tokens = 1}, {.tokens = 4}, {.tokens = 4},
                                                {.tokens = 9}};
  std::vector<std::int64_t> packs = {0, 1, 2, 3, 4, 5, 6, kZeroWeightPack};
  put_light_ends_outside(packs, 2, loads, {.per_token = 1});
  EXPECT_THAT(packs, ElementsAre(2, 3, 0, 1, 4, 5, 6, kZeroWeightPack));
}

TEST(RowOrder, LaterEpochsHoldTheSamePacksInThatOrder) {
  MadeSteps made = made_steps(made_loads(160, 3, 1), {.dp = 4, .micro_batches = 8});
  made.options.forward = {.per_token = 1};
  const auto packs_at = [&made](RowOrder order, StepPosition at) {
    made.options.row_order = order;
    return StepReader::open(made.source(), {.at = at, .ranks = {4, 8}, .changes = {}})->packs();
  };
  EXPECT_EQ(packs_at(RowOrder::kLightEnds, {0, 1}), packs_at(RowOrder::kAsDealt, {0, 1}));
  const auto dealt = packs_at(RowOrder::kAsDealt, {1, 1});
  const auto ordered = packs_at(RowOrder::kLightEnds, {1, 1});
  EXPECT_NE(ordered, dealt);
  EXPECT_THAT(ordered, ::testing::UnorderedElementsAreArray(dealt));
}

}  // namespace
}  // namespace omnibal::steps
