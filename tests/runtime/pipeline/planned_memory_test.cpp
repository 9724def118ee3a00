// SPDX-License-Identifier: Apache-2.0
// The most bytes that a rank of a pipeline holds in a step, against the planner's own figure.
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <map>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/model/live_bytes.h"
#include "omnibal/runtime/pipeline/pipeline_stages.h"
#include "omnibal/simulate/stage_memory.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

// vision.0 .. vision.7 projector token_embedding llm.0 .. llm.7 head
constexpr std::size_t kPlannedLayers = 19;
constexpr int kPlannedStages = 3;
constexpr int kPlannedMicroBatches = 4;

/// InternVL: LayerScale always, over Qwen3, which has norms of query and key heads, or Qwen2.
std::string wide_internvl(const std::string& vision, const std::string& text) {
  return R"({"model_type":"internvl","image_token_id":50,"tie_word_embeddings":false,
"vision_config":{"hidden_size":128,"num_hidden_layers":8,"num_attention_heads":2,
"intermediate_size":512,"image_size":112,"patch_size":14,)" +
         vision + R"("use_mean_pooling":true},
"text_config":{"hidden_size":128,"num_hidden_layers":8,"num_attention_heads":4,
"num_key_value_heads":2,"intermediate_size":384,"vocab_size":2048,)" +
         text + "}}";
}

/// Every position is supervised, as the planner counts logits.
PreparedBatch supervised_batch(const ModelConfig& config) {
  MicroBatch batch = sample_batch(config, 10, 240, at::kBFloat16).batch;
  batch.labels =
      at::arange(batch.ids.size(0), at::TensorOptions().dtype(at::kLong)).remainder(50);
  Result<PreparedBatch> prepared = prepare(std::move(batch), config, at::kBFloat16);
  EXPECT_TRUE(prepared.ok()) << to_text(prepared.error());
  return *std::move(prepared);
}

struct PlannedCase {
  const char* name;
  std::string config;
  partition::Cuts cuts;
  /// Of `period` layers in a row, the first `recomputed` recompute.
  std::size_t recomputed, period;
  Recompute choice = Recompute::kEverything;
};

schedule::Schedule one_f_one_b() {
  return *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, kPlannedStages,
                                  kPlannedMicroBatches);
}

std::vector<Recompute> choices_of(const PlannedCase& planned) {
  std::vector<Recompute> choices;
  for (std::size_t i = 0; i < kPlannedLayers; ++i) {
    choices.push_back(i % planned.period < planned.recomputed ? planned.choice
                                                              : Recompute::kNothing);
  }
  return choices;
}

/// Peak bytes by rank beyond what lies there between steps: weights and gradients.
std::vector<std::int64_t> measured_peaks(const PlannedCase& planned, const ModelConfig& config,
                                         const PreparedBatch& batch) {
  const schedule::Schedule compute = one_f_one_b();
  std::vector<std::int64_t> peaks(kPlannedStages);
  const Status status = run_thread_ranks(kPlannedStages, [&](Communicator& world) -> Status {
    at::set_num_threads(1);
    LiveBytes live;
    Pipeline pipeline{schedule::lower(compute), {}, 0};
    const std::vector<std::int64_t> cuts(planned.cuts.begin(), planned.cuts.end());
    pipeline.stages = make_pipeline_stages(config, {compute, cuts}, RankIndex{world.rank()},
                                           {choices_of(planned), at::kBFloat16, nullptr});
    for (const Parameter& parameter : pipeline.stages.front().stage.parameters) {
      const c10::NoGradGuard no_graph;
      parameter.tensor.fill_(0.01);
    }
    const auto load = [&](MicroBatchIndex) -> Result<PreparedBatch> { return batch; };
    OMNIBAL_RETURN_IF_ERROR(run_pipeline(pipeline, world, {load}));  // gradients are there now
    live.restart_peak();
    const std::int64_t resting = live.now();
    OMNIBAL_RETURN_IF_ERROR(run_pipeline(pipeline, world, {load}));
    peaks[static_cast<std::size_t>(world.rank())] = live.peak() - resting;
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
  return peaks;
}

/// The same in the planner's words; what a layer cannot do it does not.
cost::LayerChoices planner_choices(const cost::Profile& profile,
                                   const std::vector<Recompute>& choices) {
  const std::map<Recompute, std::string> words = {{Recompute::kAttention, "attention"},
                                                  {Recompute::kMlp, "mlp"},
                                                  {Recompute::kAttentionAndMlp, "attention+mlp"}};
  std::vector<bool> whole;
  std::vector<cost::NamedChoice> named;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    whole.push_back(choices[i] == Recompute::kEverything);
    const auto word = words.find(choices[i]);
    if (word == words.end() || profile.layers[i].recompute_choices.empty()) continue;
    named.push_back({static_cast<std::int64_t>(i), word->second});
  }
  Result<cost::LayerChoices> result = cost::choices_of(profile, whole, named);
  EXPECT_TRUE(result.ok()) << to_text(result.error());
  return *std::move(result);
}

/// The planner's peak of each rank without what it counts for weights, gradients and optimizer.
std::vector<std::int64_t> planned_peaks(const PlannedCase& planned, const ModelConfig& config,
                                        const PreparedBatch& batch) {
  double pairs = 0;
  for (const std::int64_t length : batch.segments) pairs += static_cast<double>(length * length);
  const cost::Load load{static_cast<double>(batch.units()), static_cast<double>(batch.tokens()),
                        pairs};
  Result<cost::Profile> profile =
      cost::analytic_profile(config.spec, *cluster::load_cluster("a100-80g"), {.load = load});
  EXPECT_TRUE(profile.ok()) << to_text(profile.error());
  for (cost::LayerProfile& layer : profile->layers) layer.static_bytes = {};
  const std::vector<cost::Load> loads(kPlannedMicroBatches, load);
  const cost::LayerChoices choices = planner_choices(*profile, choices_of(planned));
  return simulate::peak_bytes(one_f_one_b(), cost::with_choices(*profile, choices), planned.cuts,
                              cost::spares_memory(choices), loads);
}

class RuntimePlannedMemory : public testing::TestWithParam<PlannedCase> {};

TEST_P(RuntimePlannedMemory, ARankHoldsWhatThePlannerSays) {
  const PlannedCase& planned = GetParam();
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, planned.config);
  ASSERT_EQ(config.spec.layers.size(), kPlannedLayers);
  const PreparedBatch batch = supervised_batch(config);
  const std::vector<std::int64_t> expected = planned_peaks(planned, config, batch);
  const std::vector<std::int64_t> found = measured_peaks(planned, config, batch);
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    EXPECT_NEAR(static_cast<double>(found[rank]) / static_cast<double>(expected[rank]), 1, 0.1)
        << "rank " << rank << ": " << found[rank] << " of " << expected[rank] << " bytes";
    printf("%s rank %zu %ld of %ld: %.3f\n", planned.name, rank, found[rank], expected[rank], static_cast<double>(found[rank]) / static_cast<double>(expected[rank]));
  }
}

std::vector<PlannedCase> planned_cases() {
  const std::string norms = wide_internvl(R"("norm_type":"layer_norm",)", R"("model_type":"qwen2")");
  const std::string rms =
      wide_internvl(R"("norm_type":"rms_norm","use_qk_norm":true,"attention_bias":true,)",
                    R"("model_type":"qwen3","head_dim":32)");
  const partition::Cuts balanced = {6, 13};
  const partition::Cuts text = {9, 14};
  return {{"norms_none", norms, balanced, 0, 1}, {"norms_some", norms, balanced, 1, 2},
          {"norms_all", norms, balanced, 1, 1},  {"rms_none", rms, balanced, 0, 1},
          {"rms_some", rms, balanced, 1, 2},     {"rms_all", rms, balanced, 1, 1},
          {"text_none", rms, text, 0, 1},        {"text_some", rms, text, 2, 3},
          {"text_all", rms, text, 1, 1},
          {"rms_attention", rms, balanced, 1, 1, Recompute::kAttention},
          {"rms_mlp", rms, balanced, 1, 1, Recompute::kMlp},
          {"rms_both", rms, balanced, 1, 1, Recompute::kAttentionAndMlp},
          {"norms_both", norms, balanced, 1, 1, Recompute::kAttentionAndMlp},
          {"text_attention", rms, text, 1, 1, Recompute::kAttention},
          {"text_mlp", rms, text, 1, 1, Recompute::kMlp}};
}

INSTANTIATE_TEST_SUITE_P(Recompute, RuntimePlannedMemory, testing::ValuesIn(planned_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace omnibal::runtime
