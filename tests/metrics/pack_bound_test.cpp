// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/pack_bound.h"

#include <gtest/gtest.h>

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

TEST(PackBound, CountsMembersOnly) {
  const std::vector<std::uint32_t> vision = {0, 0, 0};
  const std::vector<std::uint32_t> tokens = {10, 10, 10};
  const std::vector<std::uint32_t> members = {1};
  EXPECT_EQ(pack_lower_bound({vision, tokens}, members, {.vision_units = 1, .tokens = 10}), 1);
}

}  // namespace
}  // namespace omnibal::metrics
