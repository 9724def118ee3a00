// SPDX-License-Identifier: Apache-2.0
//
// Each kind of damage is named by the check that is there for it. tests/python/test_verify.py
// damages plans through the program in many more ways.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <new>

#include "verify/checks.h"
#include "verify/damaged_plan.h"

namespace omnibal::verify {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

TEST_F(VerifyPlan, AGoodPlanHolds) { EXPECT_THAT(failed_checks(false), IsEmpty()); }

TEST_F(VerifyPlan, AChangedByteFailsItsChecksum) {
  std::fstream file(directory_ + "/steps.npy", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  EXPECT_THAT(failed_checks(false), Contains("checksums"));
}

TEST_F(VerifyPlan, ASampleTwice) {
  edit_array<std::int64_t>("pack_samples.npy", 1, [](auto& ids) { ids[0] = ids[1]; });
  EXPECT_THAT(failed_checks(), Contains("exactly_once"));
}

TEST_F(VerifyPlan, ASampleOutOfRange) {
  edit_array<std::int64_t>("pack_samples.npy", 1, [](auto& ids) { ids[0] = 600; });
  EXPECT_THAT(failed_checks(), Contains("exactly_once"));
}

TEST_F(VerifyPlan, APackTwice) {
  edit_array<std::int64_t>("steps.npy", 3, [](auto& ids) { ids[0] = ids[1]; });
  EXPECT_THAT(failed_checks(), Contains("steps"));
}

TEST_F(VerifyPlan, APackOutOfRange) {
  edit_array<std::int64_t>("steps.npy", 3, [](auto& ids) { ids[0] = 1'000'000; });
  EXPECT_THAT(failed_checks(), Contains("steps"));
}

TEST_F(VerifyPlan, ACapLowered) {
  edit_document([](codec::Json& plan) { plan["limits"]["token_cap"] = 2000; });
  EXPECT_THAT(failed_checks(), Contains("caps"));
}

TEST_F(VerifyPlan, ASampleOverTheCap) {
  edit_array<std::uint32_t>("sample_tokens.npy", 1, [](auto& tokens) { tokens[5] = 9999; });
  EXPECT_THAT(failed_checks(), Contains("caps"));
}

TEST_F(VerifyPlan, ACountThatDisagrees) {
  edit_document([](codec::Json& plan) { plan["packs"] = 1; });
  EXPECT_THAT(failed_checks(), Contains("counts"));
}

TEST_F(VerifyPlan, AFalseFigureOfTheSteps) {
  const auto change = [&](const std::function<void(codec::Json&)>& edit) {
    write();
    edit_document([&](codec::Json& plan) { edit(plan["steps"]); });
    return failed_checks();
  };
  EXPECT_THAT(change([](codec::Json& steps) { steps["repeated_packs"] = 1; }),
              ElementsAre("steps"));
  EXPECT_THAT(change([](codec::Json& steps) { steps["tail"] = "never"; }), Contains("steps"));
  EXPECT_THAT(change([](codec::Json& steps) { steps["samples_per_step"]["mean"] = 64; }),
              ElementsAre("step_metrics"));
  EXPECT_THAT(change([](codec::Json& steps) { steps["samples_per_step"]["std"] = 0; }),
              ElementsAre("step_metrics"));
  EXPECT_THAT(change([](codec::Json& steps) { steps["dist_ratio"]["time"] = 0.0001; }),
              ElementsAre("step_metrics"));
}

TEST_F(VerifyPlan, AMethodThatDoesNotPadAsThisOne) {
  for (const char* method : {"sorted", "isff", ""}) {
    edit_document([&](codec::Json& plan) { plan["method"] = method; });
    EXPECT_THAT(failed_checks(), ElementsAre("packing_metrics")) << method;
  }
}

TEST_F(VerifyPlan, ARejectionThatIsNotTrue) {
  using Edit = std::function<void(codec::Json&)>;
  const std::vector<std::pair<std::size_t, Edit>> edits = {
      {0, [](codec::Json& line) { line["reason"] = "vision"; }},
      {0, [](codec::Json& line) { line["reason"] = "mood"; }},
      {0, [](codec::Json& line) { line["value"] = 5001; }},
      {0, [](codec::Json& line) { line["limit"] = 4999; }},
      {1, [](codec::Json& line) { line["value"] = 9; }},
      {2, [](codec::Json& line) { line["reason"] = "tokens"; }},
      {2, [](codec::Json& line) { line["row"] = 31; }},
      {2, [](codec::Json& line) { line.erase("limit"); }},
      {1, [](codec::Json& line) { line["source"] = nullptr; }}};
  EXPECT_THAT(detail_of("rejected"), HasSubstr("3 samples rejected"));
  for (const auto& [line, edit] : edits) {
    write();
    edit_rejection(line, edit);
    EXPECT_THAT(failed_checks(), ElementsAre("rejected"));
  }
}

TEST_F(VerifyPlan, WhatIsNoObjectIsAVerdictNotAnException) {
  for (const char* value : {"1", "null", "[]", "\"a\""}) {
    write();
    edit_rejection(1, [&](codec::Json& line) { line = codec::Json::parse(value); });
    EXPECT_THAT(failed_checks(), ElementsAre("rejected")) << value;
    write();
    edit_document(
        [&](codec::Json& plan) { plan["corpus"]["sources"][0] = codec::Json::parse(value); });
    EXPECT_THAT(failed_checks(), IsSupersetOf({"rejected", "counts"})) << value;
  }
}

TEST_F(VerifyPlan, LengthsAndCapsBeyondAnyTable) {
  edit_array<std::uint32_t>("sample_tokens.npy", 1, [](auto& tokens) { tokens[5] = 0xffffffff; });
  EXPECT_THAT(failed_checks(), ElementsAre("files"));
  // Fits the format, but a histogram of it would take 8 GiB.
  edit_array<std::uint32_t>("sample_tokens.npy", 1, [](auto& tokens) { tokens[5] = 0x40000000; });
  EXPECT_THAT(failed_checks(), IsSupersetOf({"caps", "packing_metrics"}));
  write();
  edit_document([](codec::Json& plan) { plan["limits"]["token_cap"] = 1'000'000'000'000; });
  EXPECT_THAT(failed_checks(), IsSupersetOf({"caps", "packing_metrics", "memory"}));
}

TEST_F(VerifyPlan, PairsBeyond64Bits) {
  edit_array<std::uint32_t>("sample_tokens.npy", 1,
                            [](auto& tokens) { std::ranges::fill(tokens, 0x7fffffff); });
  EXPECT_THAT(failed_checks(), IsSupersetOf({"loads", "caps"}));
  EXPECT_THAT(detail_of("loads"), HasSubstr("pairs"));
}

TEST_F(VerifyPlan, AStepTableWithoutSteps) {
  for (const auto& shape : {std::array<std::int64_t, 3>{0, 0, 0}, {3, 32, 0}}) {
    ASSERT_TRUE(codec::write_npy<std::int64_t>(directory_ + "/steps.npy", shape, {}).ok());
    EXPECT_THAT(failed_checks(), ElementsAre("files"));
  }
}

TEST(RunCheck, AnExceptionFailsTheCheckAlone) {
  const Check check = run_check({"hungry", []() -> Finding { throw std::bad_alloc(); }});
  EXPECT_EQ(check.name, "hungry");
  EXPECT_FALSE(check.ok);
  EXPECT_THAT(check.detail, HasSubstr("could not be checked"));
}

TEST_F(VerifyPlan, AMissingFileIsAVerdictNotACrash) {
  std::filesystem::remove(directory_ + "/pack_load.npy");
  EXPECT_THAT(failed_checks(), Contains("files"));
  EXPECT_THAT(failed_checks(false), Contains("checksums"));
}

}  // namespace
}  // namespace omnibal::verify
