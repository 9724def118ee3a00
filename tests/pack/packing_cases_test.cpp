// SPDX-License-Identifier: Apache-2.0
//
// tests/cases/packing.json: small inputs from samples to steps. A new case needs no C++.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data_paths.h"
#include "omnibal/codec/json.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/pack/method.h"
#include "omnibal/steps/step_table.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

using codec::Json;

TestSamples samples_of(const Json& test) {
  TestSamples samples;
  for (const Json& row : test["samples"]) {
    samples.add(row["vision"].get<std::uint32_t>(), row["tokens"].get<std::uint32_t>(),
                row.value("times", 1));
  }
  return samples;
}

PackLimits limits_of(const Json& test) {
  const Json given = test.value("limits", Json::object());
  PackLimits limits =
      PackLimits::with_paper_floors(9, given.value("token_cap", std::int64_t{4096}));
  limits.rounds = given.value("rounds", limits.rounds);
  limits.max_samples = given.value("max_samples", limits.max_samples);
  return limits;
}

Json rejections(const Admission& admission) {
  Json lines = Json::array();
  for (const Rejection& r : admission.rejected) {
    lines.push_back(
        fmt::format("{} {} {} {}", r.reason, r.value, r.value > r.limit ? ">" : "<", r.limit));
  }
  return lines;
}

Json packs_outcome(const Packs& packs, const std::vector<metrics::PackLoad>& loads,
                   const PackLimits& limits) {
  std::size_t largest = 0;
  for (std::int64_t p = 0; p < packs.size(); ++p)
    largest = std::max(largest, packs.view()[p].size());
  std::int64_t vision = 0;
  std::int64_t tokens = 0;
  for (const metrics::PackLoad& load : loads) {
    vision += load.vision_units;
    tokens += load.tokens;
  }
  const metrics::Fill fill = metrics::fill(loads, limits.caps());
  return {{"placed", packs.samples.size()}, {"packs", packs.size()}, {"largest_pack", largest},
          {"vision_total", vision},         {"token_total", tokens}, {"fill_vision", fill.vision},
          {"fill_tokens", fill.tokens}};
}

Result<Json> steps_outcome(const Json& test, const Packs& packs,
                           const std::vector<metrics::PackLoad>& loads, std::uint64_t seed) {
  OMNIBAL_ASSIGN(const steps::Tail tail,
                 steps::parse_tail(test.value("tail", std::string("zero-weight"))));
  const steps::StepOptions options{
      .dp = test["dp"].get<std::int64_t>(), .micro_batches = 1, .tail = tail, .seed = seed};
  OMNIBAL_ASSIGN(const steps::StepTable table, steps::form_steps(loads, options));
  const metrics::DistRatios dist = metrics::dist_ratios(table.grid(), loads, {});
  return Json{{"steps", table.num_steps},
              {"zero_weight_packs", table.zero_weight_packs},
              {"dropped_packs", table.dropped_packs},
              {"duplicated", metrics::count_repeated_samples(table.pack_ids, packs.view())},
              {"dist_vision", dist.vision},
              {"dist_tokens", dist.tokens},
              {"dist_attention", dist.attention}};
}

Result<Json> outcome(const Json& test, const std::string& method, const TestSamples& samples,
                     std::uint64_t seed) {
  const PackLimits limits = limits_of(test);
  OMNIBAL_ASSIGN(
      const Admission admission,
      admit(samples.columns(), limits, {.allow_empty = test.value("allow_empty", false)}));
  OMNIBAL_ASSIGN(const Method packer, parse_method(method));
  const Packs packs =
      group_samples(packer, samples.columns(), admission.accepted, {.limits = limits, .seed = seed})
          .packs;
  EXPECT_EQ(placement_fault(packs.view(), admission.accepted), "");
  EXPECT_EQ(admission.accepted.size() + admission.rejected.size(), samples.tokens.size());
  const auto loads = metrics::packed_loads(packs.view(), samples.columns());
  EXPECT_EQ(metrics::count_over_cap(loads, limits.caps()), 0);
  Json result = packs_outcome(packs, loads, limits);
  result["rejected"] = rejections(admission);
  if (test.contains("dp")) {
    OMNIBAL_ASSIGN(const Json steps, steps_outcome(test, packs, loads, seed));
    result.update(steps);
  }
  return result;
}

void check(const Json& expect, const Result<Json>& result) {
  if (expect.contains("error")) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(error_code_info(result.error().code).name, expect["error"].get<std::string>());
    EXPECT_THAT(result.error().message, ::testing::HasSubstr(expect["message"].get<std::string>()));
    return;
  }
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const auto& [key, value] : expect.items()) EXPECT_EQ((*result)[key], value) << key;
}

TEST(PackingCases, EndAsExpectedForEverySeed) {
  const auto cases = codec::read_json(case_file("packing.json"));
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  for (const Json& test : *cases) {
    const TestSamples samples = samples_of(test);
    const auto methods = test.value("methods", std::vector<std::string>{"isf"});
    for (const std::string& method : methods) {
      for (std::uint64_t seed = 0; seed < test.value("seeds", 1U); ++seed) {
        SCOPED_TRACE(fmt::format("{}, {}, seed {}", test["id"].get<std::string>(), method, seed));
        check(test["expect"], outcome(test, method, samples, seed));
      }
    }
  }
}

}  // namespace
}  // namespace omnibal::pack
