// SPDX-License-Identifier: Apache-2.0
// The most bytes that a rank of a pipeline holds in a step, against the planner's own figure.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>
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

// vision.0 .. vision.11 projector token_embedding llm.0 .. llm.13 head
constexpr std::size_t kPlannedLayers = 29;
constexpr int kPlannedStages = 3;
constexpr int kPlannedMicroBatches = 4;

/// Narrow and with many rows, so that a weight's gradient on its way counts little. InternVL, with
/// LayerScale always, over Qwen3, which has norms of query and key heads, or Qwen2.
std::string narrow_internvl(const std::string& vision, const std::string& text) {
  return R"({"model_type":"internvl","image_token_id":50,"tie_word_embeddings":false,
"vision_config":{"hidden_size":64,"num_hidden_layers":12,"num_attention_heads":2,
"intermediate_size":256,"image_size":56,"patch_size":7,)" +
         vision + R"("use_mean_pooling":true},
"text_config":{"hidden_size":64,"num_hidden_layers":14,"num_attention_heads":4,
"num_key_value_heads":2,"intermediate_size":256,"vocab_size":512,)" +
         text + "}}";
}

/// Every position is supervised, as the planner counts logits.
PreparedBatch supervised_batch(const ModelConfig& config) {
  MicroBatch batch = sample_batch(config, 10, 400, at::kBFloat16).batch;
  batch.labels = at::arange(batch.ids.size(0), at::TensorOptions().dtype(at::kLong)).remainder(50);
  Result<PreparedBatch> prepared = prepare(std::move(batch), config, at::kBFloat16);
  EXPECT_TRUE(prepared.ok()) << to_text(prepared.error());
  return *std::move(prepared);
}

struct PlannedCase {
  const char* name;
  std::string config;
  std::vector<std::int64_t> cuts;
  Recompute choice = Recompute::kNothing;
  /// Of so many layers in a row the first takes the choice.
  std::size_t period = 1;
};

schedule::Schedule one_f_one_b() {
  return *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, kPlannedStages,
                                  kPlannedMicroBatches);
}

/// What recomputes, of layers that can.
std::vector<Recompute> choices_of(const PlannedCase& planned, const cost::Profile& profile) {
  const std::vector<cost::LayerCost> costs = cost::evaluate(profile, profile.load);
  std::vector<Recompute> choices(kPlannedLayers, Recompute::kNothing);
  for (std::size_t i = 0; i < kPlannedLayers; i += planned.period) {
    const bool can = planned.choice == Recompute::kEverything
                         ? costs[i].can_recompute
                         : !profile.layers[i].recompute_choices.empty();
    if (can) choices[i] = planned.choice;
  }
  return choices;
}

/// Peak bytes by rank beyond what lies there between steps: weights and gradients.
std::vector<std::int64_t> measured_peaks(const PlannedCase& planned, const ModelConfig& config,
                                         const PreparedBatch& batch,
                                         const std::vector<Recompute>& choices) {
  const schedule::Schedule compute = one_f_one_b();
  std::vector<std::int64_t> peaks(kPlannedStages);
  const Status status = run_thread_ranks(kPlannedStages, [&](Communicator& world) -> Status {
    at::set_num_threads(1);
    LiveBytes live;
    Pipeline pipeline{schedule::lower(compute), {}, 0};
    pipeline.stages = make_pipeline_stages(config, {compute, planned.cuts}, RankIndex{world.rank()},
                                           {choices, at::kBFloat16, nullptr});
    for (const Parameter& parameter : pipeline.stages.front().stage.parameters) {
      const c10::NoGradGuard no_graph;
      parameter.tensor.fill_(0.01);
      parameter.tensor.mutable_grad() = at::zeros_like(parameter.tensor);
    }
    const auto load = [&](MicroBatchIndex) -> Result<PreparedBatch> { return batch; };
    live.restart_peak();
    const std::int64_t resting = live.now();
    const Result<PipelineReport> report = run_pipeline(pipeline, world, {load});
    if (!report) return report.error();
    peaks[static_cast<std::size_t>(world.rank())] = live.peak() - resting;
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
  return peaks;
}

/// Costs without weights, gradients and optimizer states.
cost::Profile activations_alone(const ModelConfig& config, const PreparedBatch& batch) {
  double pairs = 0;
  for (const std::int64_t length : batch.segments) pairs += static_cast<double>(length * length);
  const cost::Load load{static_cast<double>(batch.units()), static_cast<double>(batch.tokens()),
                        pairs};
  Result<cost::Profile> profile =
      cost::analytic_profile(config.spec, *cluster::load_cluster("a100-80g"), {.load = load});
  EXPECT_TRUE(profile.ok()) << to_text(profile.error());
  for (cost::LayerProfile& layer : profile->layers) layer.static_bytes = {};
  return *std::move(profile);
}

/// The same choices in the planner's words.
cost::LayerChoices in_planners_words(const cost::Profile& profile,
                                     const std::vector<Recompute>& choices) {
  const std::map<Recompute, std::string> words = {{Recompute::kAttention, "attention"},
                                                  {Recompute::kMlp, "mlp"},
                                                  {Recompute::kAttentionAndMlp, "attention+mlp"}};
  std::vector<bool> whole;
  std::vector<cost::NamedChoice> named;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    whole.push_back(choices[i] == Recompute::kEverything);
    const auto word = words.find(choices[i]);
    if (word != words.end()) named.push_back({static_cast<std::int64_t>(i), word->second});
  }
  Result<cost::LayerChoices> result = cost::choices_of(profile, whole, named);
  EXPECT_TRUE(result.ok()) << to_text(result.error());
  return *std::move(result);
}

/// The planner's peak of each rank, and what it would be without what recomputation rebuilds.
struct PlannedPeaks {
  std::vector<std::int64_t> whole, without_transient;
};

PlannedPeaks planned_peaks(const PlannedCase& planned, const cost::Profile& profile,
                           const std::vector<Recompute>& choices) {
  const cost::LayerChoices named = in_planners_words(profile, choices);
  const std::vector<std::int32_t> first(planned.cuts.begin(), planned.cuts.end());
  const std::vector<cost::Load> loads(kPlannedMicroBatches, profile.load);
  cost::Profile chosen = cost::with_choices(profile, named);
  const auto peaks = [&] {
    return simulate::peak_bytes(one_f_one_b(), chosen, partition::cuts_at(first),
                                cost::spares_memory(named), loads);
  };
  PlannedPeaks result{peaks(), {}};
  for (cost::LayerProfile& layer : chosen.layers) layer.transient_bytes = cost::LinearCost{};
  result.without_transient = peaks();
  return result;
}

class RuntimePlannedMemory : public testing::TestWithParam<PlannedCase> {};

TEST_P(RuntimePlannedMemory, ARankHoldsWhatThePlannerSays) {
  const PlannedCase& planned = GetParam();
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, planned.config);
  ASSERT_EQ(config.spec.layers.size(), kPlannedLayers);
  const PreparedBatch batch = supervised_batch(config);
  const cost::Profile profile = activations_alone(config, batch);
  const std::vector<Recompute> choices = choices_of(planned, profile);
  const PlannedPeaks expected = planned_peaks(planned, profile, choices);
  const std::vector<std::int64_t> found = measured_peaks(planned, config, batch, choices);
  for (std::size_t rank = 0; rank < kPlannedStages; ++rank) {
    // The head's logits are gone before a block of its rank is rebuilt; the planner has both.
    const bool has_head = rank + 1 == kPlannedStages;
    const auto least =
        static_cast<double>((has_head ? expected.without_transient : expected.whole)[rank]);
    EXPECT_GE(static_cast<double>(found[rank]), 0.9 * least) << "rank " << rank;
    EXPECT_LE(static_cast<double>(found[rank]), 1.1 * static_cast<double>(expected.whole[rank]))
        << "rank " << rank;
  }
}

std::vector<PlannedCase> planned_cases() {
  const std::string layer_norms =
      narrow_internvl(R"("norm_type":"layer_norm",)", R"("model_type":"qwen2")");
  const std::string rms_norms =
      narrow_internvl(R"("norm_type":"rms_norm","use_qk_norm":true,"attention_bias":true,)",
                      R"("model_type":"qwen3","head_dim":16)");
  const std::vector<std::int64_t> middle = {8, 19};  // the second in the tower and the text
  const std::vector<std::int64_t> text = {13, 22};   // the second and third in the text alone
  return {{"LayerNormsNothing", layer_norms, middle},
          {"LayerNormsSome", layer_norms, middle, Recompute::kEverything, 2},
          {"LayerNormsEverything", layer_norms, middle, Recompute::kEverything},
          {"RmsNormsNothing", rms_norms, middle},
          {"RmsNormsSome", rms_norms, middle, Recompute::kEverything, 2},
          {"RmsNormsEverything", rms_norms, middle, Recompute::kEverything},
          {"RmsNormsAttention", rms_norms, middle, Recompute::kAttention},
          {"RmsNormsMlp", rms_norms, middle, Recompute::kMlp},
          {"RmsNormsBoth", rms_norms, middle, Recompute::kAttentionAndMlp},
          {"TextNothing", rms_norms, text},
          {"TextEverything", rms_norms, text, Recompute::kEverything},
          {"TextBoth", rms_norms, text, Recompute::kAttentionAndMlp}};
}

INSTANTIATE_TEST_SUITE_P(Cases, RuntimePlannedMemory, testing::ValuesIn(planned_cases()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace omnibal::runtime
