// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {
namespace {

TEST(Cuts, AreReadBack) {
  const std::vector<std::int32_t> layers{3, 7};
  EXPECT_EQ(first_layers(cuts_at(layers)), layers);
  const std::vector<StageRange> ranges = stage_ranges(cuts_at(layers), 9);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[1].begin, 3);
  EXPECT_EQ(ranges[1].end, 7);
  EXPECT_EQ(ranges[2].end, 9);
}

TEST(CheckCuts, WantsRisingCutsInsideTheLayers) {
  const auto verdict = [](std::vector<std::int32_t> layers) {
    return check_cuts(cuts_at(layers), 5).ok();
  };
  EXPECT_TRUE(verdict({}));
  EXPECT_TRUE(verdict({1, 2, 3, 4}));
  EXPECT_FALSE(verdict({0}));
  EXPECT_FALSE(verdict({5}));
  EXPECT_FALSE(verdict({2, 2}));
  EXPECT_FALSE(verdict({3, 2}));
  EXPECT_FALSE(verdict({-1}));
  EXPECT_EQ(check_cuts(cuts_at(std::vector<std::int32_t>{9}), 5).error().code,
            ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace omnibal::partition
