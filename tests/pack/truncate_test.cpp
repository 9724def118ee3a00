// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "omnibal/base/philox.h"
#include "omnibal/pack/isf.h"
#include "omnibal/pack/packs.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const PackLimits kTruncateLimits = PackLimits::with_paper_floors(9, 4096);
constexpr AdmissionOptions kTruncate{.over_long = OverLong::kTruncate};

/// Samples whose media and tokens with a loss are known too.
struct CutSamples : TestSamples {
  std::vector<std::uint16_t> dummy_vision;
  std::vector<std::uint32_t> supervised;

  void add(std::uint32_t units, std::uint32_t length, std::uint32_t with_loss,
           std::uint16_t dummies = 0) {
    TestSamples::add(units, length);
    supervised.push_back(with_loss);
    dummy_vision.push_back(dummies);
  }
  CutColumns cut() const { return {dummy_vision, supervised, 256}; }
};

Result<Admission> admit_cut(const CutSamples& samples, const PackLimits& limits = kTruncateLimits) {
  return admit(samples.columns(), limits, kTruncate, samples.cut());
}

TEST(Truncate, A14QuestionOf5000TokensAnswerOf5) {
  CutSamples samples;
  samples.add(0, 5005, 5);     // the answer's tokens are known: a cut would lose them all
  samples.add(0, 5005, 5005);  // estimated from lengths alone: all text
  const auto admission = admit_cut(samples);
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->accepted, ElementsAre(1));
  EXPECT_THAT(admission->truncated, ElementsAre(Truncation{1, 5005, 4096, 4096}));
  ASSERT_EQ(admission->rejected.size(), 1U);
  EXPECT_EQ(admission->rejected[0].reason, "supervised");
  EXPECT_EQ(admission->rejected[0].value, 5);
  EXPECT_EQ(admission->rejected[0].limit, 910);
}

TEST(Truncate, OneTokenWithALossMustStayAtWorst) {
  CutSamples samples;
  samples.add(1, 4196, 100);  // all 100 might be cut off
  samples.add(1, 4196, 101);
  const auto admission = admit_cut(samples);
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->truncated, ElementsAre(Truncation{1, 4196, 4096, 1}));
  EXPECT_EQ(admission->rejected[0].limit, 101);
}

TEST(Truncate, MediaStayWhole) {
  CutSamples samples;
  PackLimits limits = PackLimits::with_paper_floors(20, 4096);
  samples.add(15, 5000, 1160);      // 3840 tokens of media and room for text
  samples.add(16, 5000, 904);       // 4096 of media: no room
  samples.add(16, 5000, 5000, 16);  // the same, but blank: they have no tokens here
  const auto admission = admit_cut(samples, limits);
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->accepted, ElementsAre(0, 2));
  EXPECT_THAT(admission->truncated,
              ElementsAre(Truncation{0, 5000, 4096, 256}, Truncation{2, 5000, 4096, 4096}));
  ASSERT_EQ(admission->rejected.size(), 1U);
  EXPECT_EQ(admission->rejected[0].reason, "media");
  EXPECT_EQ(admission->rejected[0].value, 4096);
  EXPECT_EQ(admission->rejected[0].limit, 4095);
}

TEST(Truncate, VisionUnitsAreNeverCut) {
  CutSamples samples;
  samples.add(12, 600, 600);
  samples.add(12, 6000, 6000);
  samples.add(1, 0, 0);
  samples.add(1, 300, 44);
  const auto admission = admit_cut(samples);
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->accepted, ElementsAre(3));
  EXPECT_THAT(admission->truncated, IsEmpty());
  EXPECT_EQ(admission->rejected[0].reason, "vision");
  EXPECT_EQ(admission->rejected[1].reason, "vision");
  EXPECT_EQ(admission->rejected[2].reason, "zero_tokens");
}

TEST(Truncate, TheCutIsToWhatAPackMayUse) {
  CutSamples samples;
  PackLimits limits = kTruncateLimits;
  limits.token_cap = 4100;
  limits.token_multiple = 16;  // 4096 is the longest that stays within 4100 when rounded up
  samples.add(1, 4100, 3844);
  const auto admission = admit_cut(samples, limits);
  ASSERT_TRUE(admission.ok());
  EXPECT_THAT(admission->truncated, ElementsAre(Truncation{0, 4100, 4096, 3840}));
}

TEST(Truncate, OtherPoliciesCutNothing) {
  CutSamples samples;
  samples.add(0, 5005, 5005);
  samples.add(1, 300, 44);
  const auto rejecting = admit(samples.columns(), kTruncateLimits, {}, samples.cut());
  ASSERT_TRUE(rejecting.ok());
  EXPECT_THAT(rejecting->truncated, IsEmpty());
  EXPECT_EQ(rejecting->rejected[0].reason, "tokens");
}

TEST(Truncate, NamesOfPolicies) {
  EXPECT_THAT(over_long_names(), ElementsAre("reject", "error", "truncate"));
  for (const std::string& name : over_long_names())
    EXPECT_EQ(to_string(*parse_over_long(name)), name);
  EXPECT_EQ(parse_over_long("cut").error().code, ErrorCode::kInvalidArgument);
}

TEST(Truncate, RandomSamplesAreCutOrRejectedAsTheRuleSays) {
  for (std::uint32_t round = 0; round < 50; ++round) {
    PhiloxRng rng(41, RngStream::kTest, round);
    CutSamples samples;
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t units = rng.below(14);
      const std::uint32_t tokens = 1 + rng.below(7000);
      samples.add(units, tokens, rng.below(tokens + 1),
                  static_cast<std::uint16_t>(rng.below(3) == 0 ? units : 0));
    }
    const auto admission = admit_cut(samples);
    ASSERT_TRUE(admission.ok());
    EXPECT_EQ(admission->accepted.size() + admission->rejected.size(), 200U);
    std::vector<Truncation> expected;
    for (std::uint32_t i = 0; i < 200; ++i) {
      const std::int64_t tokens = samples.tokens[i];
      const std::int64_t media = 256 * (samples.vision[i] - samples.dummy_vision[i]);
      const std::int64_t stays = samples.supervised[i] - (tokens - 4096);
      if (tokens <= 4096 || samples.vision[i] > 9 || media + 1 > 4096 || stays < 1) continue;
      expected.push_back({i, samples.tokens[i], 4096, static_cast<std::uint32_t>(stays)});
    }
    EXPECT_EQ(admission->truncated, expected);
  }
}

}  // namespace
}  // namespace omnibal::pack
