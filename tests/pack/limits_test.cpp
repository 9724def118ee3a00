// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "omnibal/pack/isf.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

std::int64_t packs_under(const TestSamples& samples, const PackLimits& limits) {
  const auto admission = admit(samples.columns(), limits, {});
  return admission ? pack_isf(samples.columns(), admission->accepted, limits, 0).size() : 0;
}

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
  EXPECT_EQ(packs_under(samples, *limits), 3);  // of 4, 4 and 2 samples
}

TEST(PaperLimits, GrowByRealPacksNotByMeanSamples) {
  // Mean samples of 2 units: four fit into 8. But 3 + 3 + 3 does not, and where a 3 is, one of the
  // four has no room: more is needed until packs really hold four.
  TestSamples samples;
  samples.add(3, 1100, 100);
  samples.add(1, 1100, 100);
  const auto limits = paper_limits(samples.columns(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_LE(packs_under(samples, *limits), 50);
  const std::int64_t ratio = 640;  // 1280 / 2 + 1, // 16 * 16
  const PackLimits before =
      PackLimits::with_paper_floors(limits->vision_cap - 1, limits->token_cap - ratio);
  EXPECT_GT(limits->token_cap, 4096);
  EXPECT_GT(packs_under(samples, before), 50);
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

TEST(PaperLimits, KeepTheRulesTheyAreGiven) {
  TestSamples samples;
  samples.add(2, 700, 100);
  const auto limits = paper_limits(
      samples.columns(),
      {.rules = {.token_floor = 3000, .rounds = 7, .max_samples = 5, .token_multiple = 16}});
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->vision_floor, limits->vision_cap);
  EXPECT_EQ(limits->token_floor, 3000);
  EXPECT_EQ(limits->rounds, 7);
  EXPECT_EQ(limits->max_samples, 5);
  EXPECT_EQ(limits->token_multiple, 16);
}

TEST(LimitRules, CapEmptySamplesByTheTokens) {
  EXPECT_EQ(LimitRules{.allow_empty = true}.at(9, 4096).max_samples, 4096);
  EXPECT_EQ((LimitRules{.max_samples = 3, .allow_empty = true}.at(9, 4096).max_samples), 3);
  EXPECT_EQ(LimitRules{}.at(9, 4096).max_samples, 0);
}

// Faults of the released search: it never ended with fewer samples than the wanted pack size, nor
// where growth jumps over the sizes it accepts, and divided by zero where no sample fits.

TEST(ReleasedLimitSearchFaults, FewerSamplesThanTheWantedPackSizeIsSaid) {
  TestSamples few;
  few.add(1, 300, 3);
  const auto limits = paper_limits(few.columns(), {});
  ASSERT_FALSE(limits.ok());
  EXPECT_EQ(limits.error().code, ErrorCode::kNoFeasibleLimits);
  EXPECT_THAT(limits.error().message, testing::HasSubstr("3 samples cannot fill a pack of 4"));
}

TEST(ReleasedLimitSearchFaults, PacksThatJumpOverTheTargetAreFound) {
  // Caps of 8192 tokens hold one sample and 4095 others, 4096 tokens none of the large: a pack
  // never holds 4 to 5 on average.
  TestSamples samples;
  samples.add(0, 1, 5000);
  samples.add(0, 4097, 2);
  const auto limits = paper_limits(samples.columns(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_LE(packs_under(samples, *limits), 1251);
}

TEST(ReleasedLimitSearchFaults, NoSampleThatFitsAtFirstIsGrownTo) {
  TestSamples large;
  large.add(20, 9000, 200);
  const auto limits = paper_limits(large.columns(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_GE(limits->vision_cap, 80);
  EXPECT_GE(limits->token_cap, 36000);
  EXPECT_EQ(packs_under(large, *limits), 50);
}

TEST(ReleasedLimitSearchFaults, NoSampleAtAllIsSaid) {
  EXPECT_EQ(paper_limits({}, {}).error().code, ErrorCode::kNothingUsable);
}

TEST(PaperLimits, EndWhereNoCapsCanReachTheTarget) {
  TestSamples samples;
  samples.add(1, 300, 200);
  const auto by_rule = paper_limits(samples.columns(), {.rules = {.max_samples = 3}});
  ASSERT_FALSE(by_rule.ok());
  EXPECT_EQ(by_rule.error().code, ErrorCode::kNoFeasibleLimits);
  EXPECT_EQ(paper_limits(samples.columns(), {.micro_batch = 1 << 20}).error().code,
            ErrorCode::kNoFeasibleLimits);
  TestSamples empty;
  empty.add(1, 0, 200);  // none is admitted, with no caps
  EXPECT_EQ(paper_limits(empty.columns(), {}).error().code, ErrorCode::kNoFeasibleLimits);
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
