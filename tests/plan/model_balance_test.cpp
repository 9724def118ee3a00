// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/model_balance.h"

#include <gmock/gmock.h>

#include "data_paths.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/simulate/stage_times.h"

namespace omnibal::plan {
namespace {

cost::Profile workload_w() {
  Result<cost::Profile> profile = cost::read_profile(test_data("w.json"));
  EXPECT_TRUE(profile.ok());
  return *std::move(profile);
}

ModelBalance balanced(const cost::Profile& profile, const ModelBalanceRequest& request) {
  Result<ModelBalance> balance = balance_model(profile, request);
  EXPECT_TRUE(balance.ok()) << balance.error().message;
  return *std::move(balance);
}

/// InternVL-Chat-1.5 on tp 2 at the mean load of its packs (caps 9 and 4096).
cost::Profile internvl_chat_at_the_mean_pack() {
  const auto model = model::load_model("internvl-chat-1.5-26b");
  const auto cluster = cluster::load_cluster("a100-80g");
  auto profile = cost::analytic_profile(*model, *cluster, {.tp = 2, .dp = 8});
  EXPECT_TRUE(profile.ok());
  profile->load = {8.829, 3419.2, 3.4346e6};
  return *std::move(profile);
}

TEST(BalanceModel, FindsThePapersAnchorForInternVlChat) {
  const cost::Profile profile = internvl_chat_at_the_mean_pack();
  ModelBalanceRequest request{.num_stages = 4, .num_micro_batches = 32};
  request.method = PartitionMethod::kAnchor;
  EXPECT_EQ(partition::first_layers(balanced(profile, request).best.cuts),
            (std::vector<std::int32_t>{22, 44, 71}));
  request.method = PartitionMethod::kEvenParameters;
  EXPECT_EQ(partition::first_layers(balanced(profile, request).best.cuts),
            (std::vector<std::int32_t>{48, 64, 80}));
}

/// A request that must recompute: 45 GB of the 81 that the model takes.
ModelBalanceRequest request_within_memory(PartitionMethod method, cost::ChoiceSet choices) {
  ModelBalanceRequest request{.num_stages = 4, .num_micro_batches = 32};
  request.method = method;
  request.recompute = RecomputeMethod::kJoint;
  request.memory_bytes = 45'000'000'000;
  request.choices = choices;
  return request;
}

TEST(BalanceModel, NamedChoicesSpareTimeWithinTheSameMemory) {
  const cost::Profile profile = internvl_chat_at_the_mean_pack();
  for (const PartitionMethod method : {PartitionMethod::kJoint, PartitionMethod::kMinMax}) {
    const auto balance = [&](cost::ChoiceSet choices) {
      return balanced(profile, request_within_memory(method, choices));
    };
    const ModelBalance full = balance(cost::ChoiceSet::kFull);
    EXPECT_TRUE(full.best.named.empty());
    const ModelBalance selective = balance(cost::ChoiceSet::kSelective);
    EXPECT_FALSE(selective.best.named.empty());
    EXPECT_LT(selective.best.makespan_s, 0.97 * full.best.makespan_s);
    for (const metrics::StageSummary& stage : selective.stages) {
      EXPECT_LE(stage.peak_bytes, 45'000'000'000);
    }
    for (const cost::NamedChoice& named : selective.best.named) {
      EXPECT_NE(named.name, "offload");
      EXPECT_TRUE(selective.best.recompute[static_cast<std::size_t>(named.layer)]);
    }
    EXPECT_LE(balance(cost::ChoiceSet::kOffload).best.makespan_s,
              selective.best.makespan_s * (1 + 1e-9));
  }
}

/// Two stages of a layer each, which takes 10 bytes of a micro-batch or offloads them: stage 0
/// holds two micro-batches.
cost::Profile two_layers_that_offload() {
  cost::LayerProfile layer;
  layer.forward_s = layer.input_grad_s = layer.weight_grad_s = {.constant = 1};
  layer.activation_bytes = layer.recomputed_bytes = {.constant = 10};
  layer.recompute_choices.push_back({.name = "offload",
                                     .recompute_s = {.constant = 0.5},
                                     .kept_bytes = {.constant = 1},
                                     .transient_bytes = {}});
  cost::Profile profile;
  profile.layers = {layer, layer};
  profile.layers[0].name = "first";
  profile.layers[1].name = "second";
  return profile;
}

TEST(BalanceModel, OffloadedBytesFitTheHostsMemory) {
  const cost::Profile profile = two_layers_that_offload();
  ModelBalanceRequest request{.num_stages = 2, .num_micro_batches = 4};
  request.method = PartitionMethod::kJoint;
  request.recompute = RecomputeMethod::kJoint;
  request.memory_bytes = 15;
  request.choices = cost::ChoiceSet::kOffload;
  request.host_share_bytes = 18;  // of two micro-batches all but a byte each
  const ModelBalance balance = balanced(profile, request);
  EXPECT_THAT(balance.best.named, testing::ElementsAre(cost::NamedChoice{0, "offload"}));
  request.host_share_bytes = 17;
  const auto refused = balance_model(profile, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kMemoryInfeasible);
  EXPECT_EQ(std::get<std::int64_t>(refused.error().value), 18);
  request.choices = cost::ChoiceSet::kSelective;
  EXPECT_FALSE(balance_model(profile, request).ok());
}

TEST(BalanceModel, NamedChoicesNeedARecomputationThatWeighsThem) {
  const cost::Profile profile = internvl_chat_at_the_mean_pack();
  auto request = request_within_memory(PartitionMethod::kJoint, cost::ChoiceSet::kSelective);
  request.recompute = RecomputeMethod::kBar;
  EXPECT_EQ(balance_model(profile, request).error().code, ErrorCode::kInvalidArgument);
  request.recompute = RecomputeMethod::kJoint;
  request.constraints.restriction = joint::Restriction::kMegatron;
  EXPECT_EQ(balance_model(profile, request).error().code, ErrorCode::kInvalidArgument);
}

TEST(BalanceModel, BmpReachesTheLeastMakespanOfWorkloadW) {
  const cost::Profile profile = workload_w();
  ModelBalanceRequest request{.num_stages = 4, .num_micro_batches = 8};
  EXPECT_NEAR(balanced(profile, request).best.makespan_s, 3.2442, 5e-5);
  request.num_stages = 8;
  request.num_micro_batches = 16;
  EXPECT_NEAR(balanced(profile, request).best.makespan_s, 3.4593, 5e-5);
}

TEST(BalanceModel, AlternativesStandInOrderOfTheirTime) {
  const ModelBalance balance = balanced(workload_w(), {.num_stages = 4, .num_micro_batches = 8});
  ASSERT_EQ(balance.alternatives.size(), 26U);
  double before = balance.best.makespan_s;
  for (const JudgedPartition& other : balance.alternatives) {
    EXPECT_GE(other.makespan_s, before);
    before = other.makespan_s;
  }
}

TEST(BalanceModel, EveryStageKeepsTheMemoryLimit) {
  const cost::Profile profile = workload_w();
  double before = 0;
  for (const std::int64_t gigabytes : {100, 70, 60, 50, 45, 40}) {
    ModelBalanceRequest request{.num_stages = 8, .num_micro_batches = 32};
    request.memory_bytes = gigabytes * 1'000'000'000;
    request.recompute = RecomputeMethod::kBar;
    const ModelBalance balance = balanced(profile, request);
    for (const metrics::StageSummary& stage : balance.stages) {
      EXPECT_LE(stage.peak_bytes, *request.memory_bytes);
    }
    EXPECT_GE(balance.best.makespan_s, before);
    before = balance.best.makespan_s;
  }
}

TEST(BalanceModel, LeavesOutCandidatesThatDoNotFit) {
  // Stage 0 keeps 2000 bytes a layer in flight: five layers do not fit 9000, four do.
  cost::Profile profile;
  for (int i = 0; i < 10; ++i) {
    cost::LayerProfile& layer = profile.layers.emplace_back();
    layer.forward_s.constant = 1;
    layer.activation_bytes.constant = layer.recomputed_bytes.constant = 1000;
  }
  ModelBalanceRequest request{.num_stages = 2, .num_micro_batches = 4};
  request.memory_bytes = 9000;
  const ModelBalance balance = balanced(profile, request);
  EXPECT_EQ(partition::first_layers(balance.best.cuts), (std::vector<std::int32_t>{4}));
  EXPECT_TRUE(balance.alternatives.empty());
}

TEST(BalanceModel, LinksCostTimeWhereTheyAreGiven) {
  ModelBalanceRequest request{.num_stages = 2, .num_micro_batches = 1};
  request.method = PartitionMethod::kEvenLayers;
  const double free = balanced(workload_w(), request).best.makespan_s;
  request.links = {{.bytes_per_s = 1e18, .latency_s = 0.25}};
  EXPECT_NEAR(balanced(workload_w(), request).best.makespan_s, free + 0.5, 1e-9);
}

TEST(BalanceModel, JsonHasTheKeysOfTheFormat) {
  const codec::Json json =
      to_json(balanced(workload_w(), {.num_stages = 4, .num_micro_batches = 8}));
  for (const char* key :
       {"cuts", "recompute", "stages", "bottleneck_s", "bottleneck_forward_s", "lower_bound_s",
        "gap", "var_forward", "sum_comm_bytes", "makespan_s", "alternatives"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key : {"first_layer", "num_layers", "forward_s", "backward_s", "recompute_s",
                          "static_bytes", "peak_bytes", "in_flight"}) {
    EXPECT_TRUE(json["stages"][0].contains(key)) << key;
  }
  EXPECT_NEAR(json["var_forward"].get<double>(), 1.982, 5e-4);
  EXPECT_NEAR(json["gap"].get<double>(),
              json["bottleneck_s"].get<double>() / json["lower_bound_s"].get<double>() - 1, 1e-12);
  // Two cuts inside the vision tower or behind it, one inside the LLM.
  EXPECT_EQ(json["sum_comm_bytes"].get<std::int64_t>(), 59'040'000 + 2 * 50'331'648);
}

TEST(BalanceModel, RefusesTooManyStagesBeforeItMakesASchedule) {
  // A schedule of so many actions would be refused by another error.
  const auto refused =
      balance_model(workload_w(), {.num_stages = 1 << 20, .num_micro_batches = 1 << 20});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyStages);
}

TEST(BalanceModel, NamesAreReadBack) {
  for (const std::string& name : partition_methods()) {
    EXPECT_TRUE(parse_partition_method(name).ok()) << name;
  }
  for (const std::string& name : recompute_methods()) {
    EXPECT_TRUE(parse_recompute_method(name).ok()) << name;
  }
  EXPECT_THAT(parse_partition_method("mip").error().hint, testing::HasSubstr("least-variance"));
}

}  // namespace
}  // namespace omnibal::plan
