// SPDX-License-Identifier: Apache-2.0
#include "optimizer/bucket_layout.h"

#include <gtest/gtest.h>

#include <set>

namespace omnibal::runtime {
namespace {

TEST(BucketLayout, HoldsEveryParameterOnceBackwardsAndInEqualParts) {
  std::vector<SizedParameter> parameters;
  for (std::int64_t i = 0; i < 40; ++i) parameters.push_back({(i * i * 37) % 211, i % 7 == 3});
  for (const int num_ranks : {1, 2, 3, 8}) {
    const auto buckets = lay_out_buckets(parameters, 300, num_ranks);
    std::set<std::size_t> seen;
    bool late_began = false;
    for (const BucketLayout& bucket : buckets) {
      EXPECT_EQ(bucket.size % num_ranks, 0);
      std::int64_t end = 0;
      for (const Slot& slot : bucket.slots) {
        EXPECT_GE(slot.offset, end);
        EXPECT_EQ(slot.size, parameters[slot.parameter].size);
        end = slot.end();
        EXPECT_TRUE(seen.insert(slot.parameter).second);
        EXPECT_EQ(parameters[slot.parameter].late, parameters[bucket.slots[0].parameter].late);
        late_began = late_began || parameters[slot.parameter].late;
        EXPECT_EQ(parameters[slot.parameter].late, late_began);
      }
      EXPECT_LE(end, bucket.size);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(seen.count(i), parameters[i].size > 0 ? 1 : 0);
    }
  }
}

TEST(BucketLayout, AParameterLargerThanABucketHasItsOwn) {
  const auto buckets = lay_out_buckets({{10, false}, {1000, false}, {10, false}}, 100, 2);
  ASSERT_EQ(buckets.size(), 3);
  EXPECT_EQ(buckets[0].slots[0].parameter, 2);
  EXPECT_EQ(buckets[1].slots[0].size, 1000);
}

}  // namespace
}  // namespace omnibal::runtime
