// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/pack_time.h"

#include <gtest/gtest.h>

#include <vector>

namespace omnibal::plan {
namespace {

/// A second a token.
const cost::LinearCost kTokens{.per_token = 1};

TEST(StepTimeOfPacks, AddsUpTheSlowestOfEachGroup) {
  // Two groups of two alike: 10 and 9, 3 and 3.
  const std::vector<metrics::PackLoad> loads = {{1, 10, 0}, {1, 3, 0}, {1, 9, 0}, {1, 3, 0}};
  EXPECT_DOUBLE_EQ(step_time_of_packs({.dp = 2}, kTokens)(loads), 13);
  EXPECT_DOUBLE_EQ(step_time_of_packs({.dp = 1}, kTokens)(loads), 25);
}

TEST(StepTimeOfPacks, CountsEveryPackWhateverTheTail) {
  const std::vector<metrics::PackLoad> loads = {{1, 4, 0}, {1, 4, 0}, {1, 4, 0}};
  EXPECT_DOUBLE_EQ(step_time_of_packs({.dp = 2, .tail = steps::Tail::kDrop}, kTokens)(loads), 8);
  EXPECT_DOUBLE_EQ(step_time_of_packs({.dp = 8, .tail = steps::Tail::kDrop}, kTokens)(loads), 4);
}

}  // namespace
}  // namespace omnibal::plan
