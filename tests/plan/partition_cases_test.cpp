// SPDX-License-Identifier: Apache-2.0
//
// Runs tests/cases/partition.json. A case: "layers" (groups of "count" equal layers; bytes a layer
// and micro-batch: 1000 kept, 100 when recomputed, 100 static), "pp", "micro_batches", optional
// "recompute" and "memory_bytes", "methods" that must all give what "expect" says.
#include <gmock/gmock.h>

#include <algorithm>

#include "data_paths.h"
#include "omnibal/codec/json.h"
#include "omnibal/plan/model_balance.h"

namespace omnibal::plan {
namespace {

using codec::Json;

cost::Profile profile_of(const Json& test) {
  cost::Profile profile;
  profile.load = {1, 1, 1};
  for (const Json& group : test["layers"]) {
    for (int i = 0; i < group["count"].get<int>(); ++i) {
      cost::LayerProfile& layer = profile.layers.emplace_back();
      if (group.contains("kind")) {
        layer.kind = *model::parse_layer_kind(group["kind"].get<std::string>());
      }
      layer.trainable = group.value("trainable", true);
      layer.parameters = group.value("parameters", 1.0);
      layer.forward_s.constant = group["forward_s"].get<double>();
      layer.input_grad_s = layer.weight_grad_s = layer.recompute_s = layer.forward_s;
      layer.activation_bytes.constant = 1000;
      layer.recomputed_bytes.constant = 100;
      layer.static_bytes.constant = 100;
    }
  }
  return profile;
}

ModelBalanceRequest request_of(const Json& test, const std::string& method) {
  ModelBalanceRequest request;
  request.num_stages = test["pp"].get<std::int32_t>();
  request.num_micro_batches = test["micro_batches"].get<std::int32_t>();
  request.method = *parse_partition_method(method);
  request.recompute = *parse_recompute_method(test.value("recompute", "none"));
  if (test.contains("memory_bytes"))
    request.memory_bytes = test["memory_bytes"].get<std::int64_t>();
  return request;
}

void expect_error(const Json& expect, const Result<ModelBalance>& balance) {
  ASSERT_FALSE(balance.ok());
  EXPECT_EQ(error_code_info(balance.error().code).name, expect["error"].get<std::string>());
  if (expect.contains("value")) {
    EXPECT_EQ(std::get<std::int64_t>(balance.error().value), expect["value"].get<std::int64_t>());
  }
}

/// Stages stand one behind the other, none is empty, every layer is in exactly one.
void expect_every_layer_once(const ModelBalance& balance, std::size_t num_layers) {
  std::int32_t next = 0;
  for (const metrics::StageSummary& stage : balance.stages) {
    EXPECT_EQ(stage.first_layer, next);
    EXPECT_GT(stage.num_layers, 0);
    next += stage.num_layers;
  }
  EXPECT_EQ(next, static_cast<std::int32_t>(num_layers));
}

std::vector<std::int64_t> recomputed_by_stage(const ModelBalance& balance) {
  std::vector<std::int64_t> counts;
  for (const metrics::StageSummary& stage : balance.stages) {
    const auto first = balance.best.recompute.begin() + stage.first_layer;
    counts.push_back(std::count(first, first + stage.num_layers, true));
  }
  return counts;
}

bool cut_inside(const cost::Profile& profile, const partition::Cuts& cuts, model::LayerKind kind) {
  return std::any_of(cuts.begin(), cuts.end(), [&](LayerIndex cut) {
    const auto at = static_cast<std::size_t>(cut.value());
    return profile.layers[at].kind == kind && profile.layers[at - 1].kind == kind;
  });
}

void expect_answer(const Json& expect, const cost::Profile& profile, const ModelBalance& balance) {
  expect_every_layer_once(balance, profile.layers.size());
  if (expect.contains("cut_inside")) {
    const auto kind = *model::parse_layer_kind(expect["cut_inside"].get<std::string>());
    EXPECT_TRUE(cut_inside(profile, balance.best.cuts, kind));
  }
  if (expect.contains("largest_stage")) {
    const auto largest =
        std::ranges::max_element(balance.stages, {}, &metrics::StageSummary::num_layers);
    EXPECT_EQ(largest->num_layers, expect["largest_stage"].get<std::int32_t>());
  }
  if (expect.contains("last_stage_layers")) {
    EXPECT_EQ(balance.stages.back().num_layers, expect["last_stage_layers"].get<std::int32_t>());
  }
  if (expect.contains("backward_s")) {
    for (std::size_t s = 0; s < balance.stages.size(); ++s) {
      EXPECT_NEAR(balance.stages[s].backward_s, expect["backward_s"][s].get<double>(), 1e-12);
    }
  }
  if (expect.contains("recompute")) {
    EXPECT_EQ(recompute::recomputed_layers(balance.best.recompute),
              expect["recompute"].get<std::vector<std::int64_t>>());
  }
  if (expect.contains("recomputed_layers")) {
    EXPECT_EQ(recomputed_by_stage(balance),
              expect["recomputed_layers"].get<std::vector<std::int64_t>>());
  }
}

TEST(PartitionCases, AllGiveWhatTheyExpect) {
  const Result<Json> cases = codec::read_json(case_file("partition.json"));
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  for (const Json& test : *cases) {
    const cost::Profile profile = profile_of(test);
    for (const Json& method : test["methods"]) {
      SCOPED_TRACE(test["name"].get<std::string>() + ", " + method.get<std::string>());
      const Result<ModelBalance> balance =
          balance_model(profile, request_of(test, method.get<std::string>()));
      if (test["expect"].contains("error")) {
        expect_error(test["expect"], balance);
        continue;
      }
      ASSERT_TRUE(balance.ok()) << balance.error().message;
      expect_answer(test["expect"], profile, *balance);
    }
  }
}

}  // namespace
}  // namespace omnibal::plan
