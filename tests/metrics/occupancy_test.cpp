// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/occupancy.h"

#include <gtest/gtest.h>

namespace omnibal::metrics {
namespace {

const std::vector<PackLoad> kLoads = {{9, 4096, 0}, {3, 2048, 0}};

TEST(Occupancy, FillIsUsedOverAllowed) {
  const Fill of = fill(kLoads, {.vision_units = 9, .tokens = 4096});
  EXPECT_DOUBLE_EQ(of.vision, 12.0 / 18.0);
  EXPECT_DOUBLE_EQ(of.tokens, 0.75);
  EXPECT_EQ(fill({}, {.vision_units = 9, .tokens = 4096}).tokens, 0);
}

TEST(Occupancy, EitherResourceCanBeOverItsCap) {
  EXPECT_EQ(count_over_cap(kLoads, {.vision_units = 9, .tokens = 4096}), 0);
  EXPECT_EQ(count_over_cap(kLoads, {.vision_units = 8, .tokens = 4096}), 1);
  EXPECT_EQ(count_over_cap(kLoads, {.vision_units = 9, .tokens = 4095}), 1);
  EXPECT_EQ(count_over_cap(kLoads, {.vision_units = 2, .tokens = 100}), 2);
}

TEST(Occupancy, SamplesOfPacksThatRunAgainAreCountedEachTime) {
  const std::vector<std::int64_t> offsets = {0, 2, 5};
  const std::vector<std::uint32_t> members = {0, 1, 2, 3, 4};
  const std::vector<std::int64_t> once = {1, 0, -1, -1};
  const std::vector<std::int64_t> again = {0, 1, 1, 1, 0};
  EXPECT_EQ(count_repeated_samples(once, {offsets, members}), 0);
  EXPECT_EQ(count_repeated_samples(again, {offsets, members}), 3 + 3 + 2);
}

}  // namespace
}  // namespace omnibal::metrics
