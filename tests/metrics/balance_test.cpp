// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/balance.h"

#include <gtest/gtest.h>

namespace omnibal::metrics {
namespace {

TEST(PadRatio, IsPaddingOverPaddedSizeOfAllGroupsTogether) {
  const std::vector<std::uint32_t> tokens = {10, 30, 20, 40};
  const std::vector<std::int64_t> offsets = {0, 2, 4};
  const std::vector<std::uint32_t> members = {0, 1, 2, 3};
  // Groups (10, 30) and (20, 40): padding 20 + 20 of 60 + 80.
  EXPECT_DOUBLE_EQ(padded_pad_ratio({offsets, members}, tokens), 40.0 / 140.0);
}

TEST(PadRatio, OfNothingAndOfZeroLengthsIsZero) {
  const std::vector<std::uint32_t> tokens = {0, 0};
  const std::vector<std::int64_t> none = {0};
  const std::vector<std::int64_t> offsets = {0, 2};
  const std::vector<std::uint32_t> members = {0, 1};
  EXPECT_EQ(padded_pad_ratio({none, {}}, tokens), 0);
  EXPECT_EQ(padded_pad_ratio({offsets, members}, tokens), 0);
}

TEST(PadRatio, OfPacksIsTheirRoundingUp) {
  const std::vector<PackLoad> loads = {{0, 10, 0}, {0, 16, 0}};
  EXPECT_EQ(packed_pad_ratio(loads, 1), 0);
  EXPECT_DOUBLE_EQ(packed_pad_ratio(loads, 16), 6.0 / 32.0);
}

TEST(DistRatio, IsTheMeanOverRowsOfWaitingOverTheSlowest) {
  const std::vector<std::int64_t> packs = {0, 1, 2, 3};
  const std::vector<double> load = {1, 2, 4, 4};
  // Row (1, 2): 1 / 4; row (4, 4): 0.
  EXPECT_DOUBLE_EQ(dist_ratio({packs, 2}, load), 0.125);
  // One row of four: (3 + 2 + 0 + 0) / 16.
  EXPECT_DOUBLE_EQ(dist_ratio({packs, 4}, load), 5.0 / 16.0);
}

TEST(DistRatio, LeavesOutRowsWithAZeroWeightPack) {
  const std::vector<std::int64_t> packs = {0, 1, 2, -1};
  const std::vector<double> load = {1, 2, 7};
  EXPECT_DOUBLE_EQ(dist_ratio({packs, 2}, load), 0.25);
}

TEST(DistRatio, CountsARowOfZeroLoadsAsBalanced) {
  const std::vector<std::int64_t> packs = {0, 1, 2, 3};
  const std::vector<double> load = {0, 0, 1, 3};
  EXPECT_DOUBLE_EQ(dist_ratio({packs, 2}, load), 0.5 * (2.0 / 6.0));
}

TEST(DistRatio, OfNoRowIsZero) {
  const std::vector<std::int64_t> packs = {0, -1};
  const std::vector<double> load = {5};
  EXPECT_EQ(dist_ratio({packs, 2}, load), 0);
  EXPECT_EQ(dist_ratio({{}, 2}, load), 0);
}

TEST(VisionIdle, CountsRowsInWhichSomeRanksAloneRunTheTower) {
  const std::vector<PackLoad> loads = {{0, 5, 25}, {0, 6, 36}, {3, 7, 49}, {4, 8, 64}};
  const std::vector<std::int64_t> packs = {0, 1, 0, 2, 2, 3, 1, -1, -1, -1};
  EXPECT_EQ(count_vision_idle_rows({packs, 2}, loads), 1);
  EXPECT_EQ(count_vision_idle_rows({packs, 5}, loads), 2);
}

TEST(DistRatio, OfTheFourLoads) {
  const std::vector<std::int64_t> packs = {0, 1};
  const std::vector<PackLoad> loads = {{2, 100, 1000}, {4, 50, 4000}};
  cost::LinearCost forward;
  forward.constant = 10;
  forward.per_vision_unit = 5;
  const DistRatios ratios = dist_ratios({packs, 2}, loads, forward);
  EXPECT_DOUBLE_EQ(ratios.vision, 2.0 / 8.0);
  EXPECT_DOUBLE_EQ(ratios.tokens, 50.0 / 200.0);
  EXPECT_DOUBLE_EQ(ratios.attention, 3000.0 / 8000.0);
  EXPECT_DOUBLE_EQ(ratios.time, 10.0 / 60.0);
}

}  // namespace
}  // namespace omnibal::metrics
