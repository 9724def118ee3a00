// SPDX-License-Identifier: Apache-2.0
// What the stages of a pipeline keep while they run, against what the planner says of them.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <mutex>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/model/live_bytes.h"
#include "omnibal/runtime/pipeline/pipeline_stages.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

using schedule::ScheduleKind;

constexpr const char* kWideLlava = R"({"model_type":"llava","image_token_index":50,
"vision_config":{"model_type":"clip_vision_model","hidden_size":128,"num_hidden_layers":7,
"num_attention_heads":2,"intermediate_size":512,"image_size":112,"patch_size":14},
"text_config":{"model_type":"llama","hidden_size":128,"num_hidden_layers":8,
"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":320,"vocab_size":512}})";

constexpr std::int64_t kLayers = 17;
// vision.0 .. vision.5 projector token_embedding llm.0 .. llm.7 head
const std::vector<std::int64_t> kCuts = {5, 11};

struct Order {
  ScheduleKind kind;
  int micro_batches;
};

/// Peak bytes by stage beyond weights and gradients: those of a second step, when gradients are
/// there.
std::vector<std::int64_t> measure(const ModelConfig& config, const Order& order, bool recompute) {
  const schedule::Schedule compute = *schedule::make_schedule(order.kind, 3, order.micro_batches);
  std::vector<std::int64_t> measured(3);
  const Status status = run_thread_ranks(3, [&](Communicator& world) -> Status {
    at::set_num_threads(1);
    LiveBytes live;
    Pipeline pipeline{schedule::lower(compute), {}, 0};
    pipeline.stages = make_pipeline_stages(
        config, {compute, kCuts}, RankIndex{world.rank()},
        {std::vector<Recompute>(kLayers, recompute ? Recompute::kEverything : Recompute::kNothing),
         at::kBFloat16, nullptr});
    for (const Parameter& parameter : pipeline.stages.front().stage.parameters) {
      const c10::NoGradGuard no_graph;
      parameter.tensor.fill_(0.01);
    }
    const PreparedBatch batch = sample_batch(config, 2, 60, at::kBFloat16);
    const auto load = [&](MicroBatchIndex) -> Result<PreparedBatch> { return batch; };
    OMNIBAL_RETURN_IF_ERROR(run_pipeline(pipeline, world, {load}).ok()
                                ? Status()
                                : Status(Error(ErrorCode::kInternal, "first step")));
    live.restart_peak();
    const std::int64_t resting = live.now();
    OMNIBAL_ASSIGN(const PipelineReport report, run_pipeline(pipeline, world, {load}));
    EXPECT_EQ(report.most_held.front(), schedule::in_flight(compute, StageIndex{world.rank()}));
    measured[static_cast<std::size_t>(world.rank())] = live.peak() - resting;
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
  return measured;
}

/// What stage [first, end) keeps of a micro-batch.
double planned(const cost::Profile& profile, const cost::Load& load, std::size_t stage,
               bool recompute) {
  const std::vector<std::int64_t> bounds = {0, kCuts[0], kCuts[1], kLayers};
  double kept = 0;
  // A recomputed first block has the pixels for input, and those are the micro-batch's own.
  for (std::int64_t i = bounds[stage] + (stage == 0 && recompute ? 1 : 0); i < bounds[stage + 1];
       ++i) {
    const cost::LayerProfile& layer = profile.layers[static_cast<std::size_t>(i)];
    kept += (recompute ? layer.recomputed_bytes : layer.activation_bytes).at(load);
  }
  return kept;
}

class RuntimePipelineMemory : public testing::TestWithParam<bool> {};

// The difference of two numbers of micro-batches in flight, so that what comes and goes within an
// operation (scratch memory of convolutions, two gradients received ahead) does not count.
TEST_P(RuntimePipelineMemory, AMicroBatchInFlightKeepsWhatThePlannerCounts) {
  const bool recompute = GetParam();
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, kWideLlava);
  ASSERT_EQ(config.spec.layers.size(), kLayers);
  const auto tokens = static_cast<double>(sample_batch(config, 2, 60, at::kBFloat16).tokens());
  const cost::Load load{2, tokens, tokens * tokens};
  const Result<cost::Profile> profile =
      cost::analytic_profile(config.spec, *cluster::load_cluster("a100-80g"), {.load = load});
  ASSERT_TRUE(profile.ok()) << to_text(profile.error());
  const std::vector<std::int64_t> few = measure(config, {ScheduleKind::kGPipe, 3}, recompute);
  const std::vector<std::int64_t> many = measure(config, {ScheduleKind::kGPipe, 4}, recompute);
  const std::vector<std::int64_t> one_f_one_b =
      measure(config, {ScheduleKind::kOneFOneB, 4}, recompute);
  for (std::size_t s = 0; s < 3; ++s) {
    const double expected = planned(*profile, load, s, recompute);
    const double found = static_cast<double>(many[s] - few[s]);
    if (s < 2) {
      EXPECT_NEAR(found / expected, 1, 0.1) << "stage " << s;
    } else {
      EXPECT_LE(found, 1.1 * expected);  // logits of supervised positions, not of all
    }
    const std::int64_t in_flight = 3 - static_cast<std::int64_t>(s);
    EXPECT_NEAR(static_cast<double>(many[s] - one_f_one_b[s]),
                static_cast<double>(4 - in_flight) * found, 0.1 * static_cast<double>(many[s]));
  }
}

INSTANTIATE_TEST_SUITE_P(Recompute, RuntimePipelineMemory, testing::Bool());

}  // namespace
}  // namespace omnibal::runtime
