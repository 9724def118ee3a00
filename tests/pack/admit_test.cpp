// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "omnibal/pack/packs.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PackLimits kLimits = PackLimits::with_paper_floors(9, 4096);

TEST(PackLimits, PaperFloorsAreTheVisionCapAndTheTokenCapLess128) {
  EXPECT_EQ(kLimits.vision_floor, 9);
  EXPECT_EQ(kLimits.token_floor, 3968);
  EXPECT_EQ(PackLimits::with_paper_floors(1, 100).token_floor, 0);
}

TEST(PackLimits, OutOfRangeValuesAreNamed) {
  const auto fault = [](auto change) {
    PackLimits limits = kLimits;
    change(limits);
    const Status status = check_limits(limits);
    return status.ok() ? "" : status.error().where.key;
  };
  EXPECT_EQ(fault([](PackLimits&) {}), "");
  EXPECT_EQ(fault([](PackLimits& l) { l.vision_cap = 0; }), "vision_cap");
  EXPECT_EQ(fault([](PackLimits& l) { l.token_cap = -1; }), "token_cap");
  EXPECT_EQ(fault([](PackLimits& l) { l.token_cap = kLargestCap + 1; }), "token_cap");
  EXPECT_EQ(fault([](PackLimits& l) { l.vision_floor = -1; }), "vision_floor");
  EXPECT_EQ(fault([](PackLimits& l) { l.token_floor = -1; }), "token_floor");
  EXPECT_EQ(fault([](PackLimits& l) { l.rounds = 0; }), "rounds");
  EXPECT_EQ(fault([](PackLimits& l) { l.max_samples = -1; }), "max_samples");
  EXPECT_EQ(fault([](PackLimits& l) { l.token_multiple = 0; }), "token_multiple");
  EXPECT_EQ(fault([](PackLimits& l) { l.token_multiple = 5000; }), "token_cap");
  EXPECT_EQ(fault([](PackLimits& l) { l.vision_floor = 10; }), "");
}

TEST(TokenMultiple, IsOneWithoutParallelismInsideASample) {
  EXPECT_EQ(token_multiple(1, 1), 1);
  EXPECT_EQ(token_multiple(1, 2), 8);
  EXPECT_EQ(token_multiple(2, 1), 8);
  EXPECT_EQ(token_multiple(2, 8), 16);
  EXPECT_EQ(token_multiple(3, 5), 120);  // lcm(6, 15, 8)
  EXPECT_EQ(token_multiple(16, 4), 64);
}

TEST(Admit, RejectsWithReasonValueAndLimit) {
  TestSamples samples;
  samples.add(1, 600);
  samples.add(1, 5000);
  samples.add(12, 600);
  samples.add(1, 0);
  samples.add(9, 4096);
  const auto admission = admit(samples.columns(), kLimits, {});
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->accepted, ElementsAre(0, 4));
  ASSERT_EQ(admission->rejected.size(), 3U);
  const auto expect = [&](std::size_t at, std::uint32_t sample, std::string_view reason,
                          std::int64_t value, std::int64_t limit) {
    const Rejection& rejection = admission->rejected[at];
    EXPECT_EQ(rejection.sample, sample);
    EXPECT_EQ(rejection.reason, reason);
    EXPECT_EQ(rejection.value, value);
    EXPECT_EQ(rejection.limit, limit);
  };
  expect(0, 1, "tokens", 5000, 4096);
  expect(1, 2, "vision", 12, 9);
  expect(2, 3, "zero_tokens", 0, 1);
}

TEST(Admit, TheRoundedLengthMustFitTheCap) {
  PackLimits limits = kLimits;
  limits.token_cap = 100;
  limits.token_multiple = 16;  // 96 is the longest that stays within 100 when rounded up
  TestSamples samples;
  samples.add(1, 96);
  samples.add(1, 97);
  const auto admission = admit(samples.columns(), limits, {});
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->accepted, ElementsAre(0));
  EXPECT_EQ(admission->rejected[0].limit, 96);
}

TEST(Admit, UnderErrorTheFirstOverLongSampleFails) {
  TestSamples samples;
  samples.add(1, 0);
  samples.add(1, 5000);
  const AdmissionOptions options{.over_long = OverLong::kError};
  const auto by_tokens = admit(samples.columns(), kLimits, options);
  ASSERT_FALSE(by_tokens.ok());
  EXPECT_EQ(by_tokens.error().code, ErrorCode::kTokenCapExceeded);
  EXPECT_EQ(by_tokens.error().where.row, 1);
  EXPECT_EQ(std::get<std::int64_t>(by_tokens.error().value), 5000);
  EXPECT_EQ(std::get<std::int64_t>(by_tokens.error().limit), 4096);
  samples.tokens[1] = 10;
  samples.vision[1] = 10;
  EXPECT_EQ(admit(samples.columns(), kLimits, options).error().code, ErrorCode::kVisionCapExceeded);
}

TEST(Admit, NothingUsableIsAnErrorThatCounts) {
  TestSamples samples;
  samples.add(1, 5000, 3);
  const auto admission = admit(samples.columns(), kLimits, {});
  ASSERT_FALSE(admission.ok());
  EXPECT_EQ(admission.error().code, ErrorCode::kNothingUsable);
  EXPECT_THAT(admission.error().message, HasSubstr("0 of 3"));
  EXPECT_EQ(admit({}, kLimits, {}).error().code, ErrorCode::kNothingUsable);
}

TEST(Admit, EmptySamplesNeedALimitOnSamples) {
  TestSamples samples;
  samples.add(0, 0, 2);
  PackLimits limits = kLimits;
  EXPECT_EQ(admit(samples.columns(), limits, {.allow_empty = true}).error().code,
            ErrorCode::kInvalidArgument);
  limits.max_samples = 8;
  const auto admission = admit(samples.columns(), limits, {.allow_empty = true});
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->accepted, ElementsAre(0, 1));
  EXPECT_THAT(admission->rejected, IsEmpty());
}

TEST(Admit, LimitsAreCheckedFirst) {
  PackLimits limits = kLimits;
  limits.rounds = -1;
  EXPECT_EQ(admit({}, limits, {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace omnibal::pack
