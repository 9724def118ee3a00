// SPDX-License-Identifier: Apache-2.0
//
// tests/cases/limits.json: caps chosen by either way for small inputs. A new case needs no C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "data_paths.h"
#include "omnibal/codec/json.h"
#include "plan/limit_task.h"

namespace omnibal::plan {
namespace {

using codec::Json;

/// Caps, or the error; `too_large` of the search alone.
struct Outcome {
  Result<pack::PackLimits> limits;
  std::int64_t too_large = 0;
};

pack::TestSamples samples_of(const Json& test) {
  pack::TestSamples samples;
  for (const Json& row : test["samples"]) {
    samples.add(row["vision"].get<std::uint32_t>(), row["tokens"].get<std::uint32_t>(),
                row["times"].get<int>());
  }
  return samples;
}

Outcome by_search(const pack::TestSamples& samples, const Json& test) {
  const TrainingTarget target =
      small_target(test.value("memory_gib", std::int64_t{80}) << 30, test.value("batch", 64));
  const auto choice = choose_limits({.samples = samples.columns(), .target = target}, {});
  if (!choice.ok()) return {choice.error()};
  return {choice->limits, choice->too_large};
}

void check(const Json& expect, const Outcome& outcome) {
  if (expect.contains("error")) {
    ASSERT_FALSE(outcome.limits.ok());
    const Error& error = outcome.limits.error();
    EXPECT_EQ(error_code_info(error.code).name, expect["error"].get<std::string>());
    EXPECT_THAT(error.message, testing::HasSubstr(expect["message"].get<std::string>()));
    return;
  }
  ASSERT_TRUE(outcome.limits.ok()) << to_text(outcome.limits.error());
  EXPECT_GE(outcome.limits->vision_cap, expect["least_vision_cap"].get<std::int64_t>());
  EXPECT_GE(outcome.limits->token_cap, expect["least_token_cap"].get<std::int64_t>());
  EXPECT_EQ(outcome.too_large, expect.value("too_large", std::int64_t{0}));
}

TEST(LimitCases, EndAsExpected) {
  const auto cases = codec::read_json(case_file("limits.json"));
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  for (const Json& test : *cases) {
    SCOPED_TRACE(test["id"].get<std::string>());
    const pack::TestSamples samples = samples_of(test);
    if (test.contains("paper")) {
      check(test["paper"],
            {pack::paper_limits(samples.columns(), {.micro_batch = test.value("micro_batch", 4)})});
    }
    if (test.contains("auto")) check(test["auto"], by_search(samples, test));
  }
}

}  // namespace
}  // namespace omnibal::plan
