// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/pack_bound.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace omnibal::metrics {
namespace {

std::int64_t bound_of_tokens(std::vector<std::uint32_t> tokens, std::int64_t cap,
                             std::int64_t max_samples = 0) {
  const std::vector<std::uint32_t> vision(tokens.size(), 0);
  std::vector<std::uint32_t> members(tokens.size());
  std::iota(members.begin(), members.end(), 0U);
  return pack_lower_bound({vision, tokens}, members,
                          {.vision_units = 1, .tokens = cap, .samples = max_samples});
}

TEST(PackBound, OfNothingIsZero) { EXPECT_EQ(bound_of_tokens({}, 10), 0); }

TEST(PackBound, ContainsTotalOverCap) { EXPECT_EQ(bound_of_tokens({5, 5, 5, 5, 1}, 10), 3); }

TEST(PackBound, ItemsAboveHalfTheCapNeedAPackEach) {
  EXPECT_EQ(bound_of_tokens({6, 6, 6, 6}, 10), 4);
  EXPECT_EQ(bound_of_tokens({4, 4, 4}, 7), 3);  // an odd cap: two of 4 do not fit
  EXPECT_EQ(bound_of_tokens({5, 5, 5, 5}, 10), 2);
}

TEST(PackBound, SmallItemsThatDoNotFitBesideLargeOnesCount) {
  // Nothing of length 4 fits beside a 7, so three packs of 7 and two for the four 4s and 5s.
  EXPECT_EQ(bound_of_tokens({7, 7, 7, 4, 4, 5, 5}, 10), 5);
}

TEST(PackBound, VisionUnitsBindWhereTokensDoNot) {
  const std::vector<std::uint32_t> vision = {9, 9, 5, 4};
  const std::vector<std::uint32_t> tokens = {100, 100, 100, 100};
  const std::vector<std::uint32_t> members = {0, 1, 2, 3};
  EXPECT_EQ(pack_lower_bound({vision, tokens}, members, {.vision_units = 9, .tokens = 4096}), 3);
}

TEST(PackBound, ACapOnSamplesBindsToo) { EXPECT_EQ(bound_of_tokens({0, 0, 0, 0, 0}, 10, 2), 3); }

std::int64_t bound_of(const std::vector<std::array<std::uint32_t, 3>>& vision_tokens_times,
                      const PackCaps& caps) {
  std::vector<std::uint32_t> vision;
  std::vector<std::uint32_t> tokens;
  for (const auto& [units, length, times] : vision_tokens_times) {
    vision.insert(vision.end(), times, units);
    tokens.insert(tokens.end(), times, length);
  }
  std::vector<std::uint32_t> members(tokens.size());
  std::iota(members.begin(), members.end(), 0U);
  return pack_lower_bound({vision, tokens}, members, caps);
}

TEST(PackBound, SamplesThatFillOneResourceEachArePairedAtBest) {
  const PackCaps caps{.vision_units = 9, .tokens = 4096};
  // Of each resource ten packs' worth, but no pair fits: 1 + 9 units.
  EXPECT_EQ(bound_of({{9, 96, 10}, {1, 4000, 10}}, caps), 20);
  EXPECT_EQ(bound_of({{9, 96, 10}, {0, 4000, 10}}, caps), 10);
  // Each long sample fits beside one wide one only, which the next one needs too.
  EXPECT_EQ(bound_of({{7, 96, 1}, {9, 96, 1}, {2, 4000, 1}, {1, 4000, 1}}, caps), 3);
}

TEST(PackBound, TheLargestMatchingCountsNotTheFirstOne) {
  // 5 units with 2000 tokens left take either long sample, 6 units with 1000 left only the shorter.
  const PackCaps caps{.vision_units = 9, .tokens = 4000};
  EXPECT_EQ(bound_of({{5, 1000, 1}, {6, 1500, 1}, {3, 2900, 1}, {3, 2400, 1}}, caps), 2);
}

TEST(PackBound, CountsWhatNoPackCanUse) {
  // Two of 5 units leave 2 of 12 unused. Total / cap is 184, each resource alone says no more.
  EXPECT_EQ(bound_of({{5, 1300, 300}, {4, 1000, 100}, {3, 800, 100}},
                     {.vision_units = 12, .tokens = 4096}),
            200);
}

TEST(PackBound, HoldsWhereLengthsAreRoundedToATable) {
  // More samples than are sorted, lengths above what a table holds.
  constexpr std::int64_t kLarge = std::int64_t{1} << 20;
  constexpr std::uint32_t kMany = 70000;
  constexpr std::uint32_t kHalf = kLarge / 2;
  const PackCaps caps{.vision_units = kLarge, .tokens = kLarge};
  EXPECT_EQ(bound_of({{kHalf, kHalf, 2 * kMany}}, caps), kMany);
  EXPECT_EQ(bound_of({{kHalf + 1, kHalf, 2 * kMany}}, caps), 2 * kMany);
  EXPECT_EQ(bound_of({{kLarge - 5000, 0, kMany}, {4000, kLarge - 9, kMany}}, caps), kMany);
  EXPECT_EQ(bound_of({{kLarge - 5000, 0, kMany}, {9000, kLarge - 9, kMany}}, caps), 2 * kMany);
}

TEST(PackBound, CountsMembersOnly) {
  const std::vector<std::uint32_t> vision = {0, 0, 0};
  const std::vector<std::uint32_t> tokens = {10, 10, 10};
  const std::vector<std::uint32_t> members = {1};
  EXPECT_EQ(pack_lower_bound({vision, tokens}, members, {.vision_units = 1, .tokens = 10}), 1);
}

}  // namespace
}  // namespace omnibal::metrics
