// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/limits.h"

#include <gtest/gtest.h>

#include "pack/placement.h"

namespace omnibal::pack {
namespace {

TEST(PaperLimits, FollowTheMeanRatioOfTokensToUnits) {
  TestSamples samples;
  samples.add(2, 700, 100);  // 768 after rounding up; 768 / 2 + 1 = 385, // 16 * 16 = 384
  const auto limits = paper_limits(samples.columns(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->token_cap, 4096);
  EXPECT_EQ(limits->vision_cap, 10);
  EXPECT_EQ(limits->vision_floor, 10);
  EXPECT_EQ(limits->token_floor, 3968);
}

TEST(PaperLimits, GrowTogetherUntilAPackHoldsAMicroBatch) {
  TestSamples samples;
  samples.add(5, 1500, 10);  // 1536 / 5 = 307, + 1, // 16 * 16 = 304; 4096 // 304 = 13
  const auto limits = paper_limits(samples.columns(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->vision_cap, 20);  // 4 * 5, seven more
  EXPECT_EQ(limits->token_cap, 4096 + 7 * 304);
}

TEST(PaperLimits, AGivenCapIsKept) {
  TestSamples samples;
  samples.add(2, 700, 100);
  const auto by_tokens = paper_limits(samples.columns(), {.token_cap = 8192});
  EXPECT_EQ(by_tokens->token_cap, 8192);
  EXPECT_EQ(by_tokens->vision_cap, 21);
  const auto by_vision = paper_limits(samples.columns(), {.vision_cap = 3});
  EXPECT_EQ(by_vision->token_cap, 4096);
  EXPECT_EQ(by_vision->vision_cap, 3);
}

TEST(PaperLimits, AlwaysEnd) {
  TestSamples few;
  few.add(1, 300, 3);
  EXPECT_EQ(paper_limits(few.columns(), {}).error().code, ErrorCode::kNoFeasibleLimits);
  EXPECT_EQ(paper_limits({}, {}).error().code, ErrorCode::kNothingUsable);
  TestSamples large;
  large.add(20, 9000, 200);
  const auto limits = paper_limits(large.columns(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_GE(limits->vision_cap, 80);
  EXPECT_GE(limits->token_cap, 36000);
  EXPECT_EQ(paper_limits(large.columns(), {.micro_batch = 1 << 20}).error().code,
            ErrorCode::kNoFeasibleLimits);
}

TEST(PaperLimits, DoNotOverflow) {
  // 2^17 samples of a micro-batch times the sum of as many of 2^31 - 1 units: beyond 64 bits.
  constexpr std::int64_t kMany = std::int64_t{1} << 17;
  const std::vector<std::uint32_t> longest(kMany, INT32_MAX);
  const std::vector<std::uint32_t> none(kMany, 0);
  for (const auto& vision : {longest, none}) {
    const auto limits = paper_limits({vision, longest}, {.micro_batch = kMany});
    ASSERT_FALSE(limits.ok());
    EXPECT_EQ(limits.error().code, ErrorCode::kNoFeasibleLimits);
  }
}

TEST(PaperLimits, TextAloneAndManyUnitsOfFewTokensDivideByNothing) {
  TestSamples text;
  text.add(0, 10, 50);
  EXPECT_EQ(paper_limits(text.columns(), {})->vision_cap, 16);  // 256 + 1 -> 256
  TestSamples images;
  images.add(64, 10, 50);
  EXPECT_GE(paper_limits(images.columns(), {})->vision_cap, 256);
}

}  // namespace
}  // namespace omnibal::pack
