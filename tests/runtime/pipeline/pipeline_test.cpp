// SPDX-License-Identifier: Apache-2.0
// Every schedule against one rank that runs micro-batch after micro-batch, in fp64.
#include "omnibal/runtime/pipeline/pipeline.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/layers/communicator_group.h"
#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/pipeline/pipeline_stages.h"
#include "omnibal/runtime/train/trained_parameters.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

using schedule::ScheduleKind;

struct Case {
  std::string name;
  ScheduleKind kind = ScheduleKind::kOneFOneB;
  std::vector<std::int64_t> cuts = {};
  std::int32_t chunks = 1;
  int tp = 1;
  GroupRules rules = {};
  std::string json = internvl_json(4, 4, 2, true);
  std::vector<Recompute> recompute = std::vector<Recompute>(7);
  /// Units of each micro-batch; less than 0: a zero-weight pack.
  std::vector<std::int64_t> units = {2, 0, 1, 3, 0, 2};
};

PreparedBatch batch_of(const ModelConfig& config, std::int64_t units, std::int64_t words) {
  if (units >= 0) return sample_batch(config, units, words);
  const at::Tensor words_of_none = at::empty({0}, at::kLong);
  const std::int64_t side = config.spec.vision.image_size;
  MicroBatch none{words_of_none,
                  words_of_none,
                  {0},
                  words_of_none,
                  at::empty({0}, at::kDouble),
                  at::empty({0, 3, side, side}, at::kDouble)};
  return *prepare(std::move(none), config, at::kDouble);
}

struct Outcome {
  double loss = 0;
  std::map<std::string, at::Tensor> gradients;  // sums over stages; undefined: none
  std::vector<std::int64_t> most_held;          // by stage
};

schedule::Schedule schedule_of(const Case& chosen) {
  const auto stages = static_cast<std::int32_t>(chosen.cuts.size()) + 1;
  const auto batches = static_cast<std::int32_t>(chosen.units.size());
  return *schedule::make_schedule(chosen.kind, stages, batches, {chosen.chunks});
}

/// One rank's gradients; of tensor-parallel ranks the first one's.
void gather(const std::vector<PipelineStage>& stages, Outcome& outcome) {
  for (const Parameter& parameter : parameters_of(stages)) {
    const at::Tensor& own = parameter.tensor.grad();
    at::Tensor& sum = outcome.gradients[parameter.name];
    if (own.defined()) sum = sum.defined() ? sum + own : own;
  }
}

Status run_rank(const Case& chosen, const ScratchDirectory& scratch, const ModelConfig& config,
                Communicator& world, Outcome& outcome, std::mutex& mutex) {
  at::set_num_threads(1);
  const schedule::Schedule compute = schedule_of(chosen);
  const auto pp = static_cast<int>(compute.ranks.size());
  const StageCuts cuts{compute, chosen.cuts};
  OMNIBAL_ASSIGN(ProcessGroups groups, make_process_groups(world, {.pp = pp, .tp = chosen.tp},
                                                           embedding_ranks(config, cuts)));
  const CommunicatorGroup tensor(*groups.tp);
  Pipeline pipeline{schedule::lower(compute), {}, 0};
  pipeline.stages =
      make_pipeline_stages(config, cuts, RankIndex{groups.pp->rank()},
                           {chosen.recompute, at::kDouble, chosen.tp > 1 ? &tensor : nullptr});
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(scratch.path()));
  for (PipelineStage& own : pipeline.stages) {
    OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, own.stage));
  }
  OMNIBAL_ASSIGN(pipeline.first_trained, first_trained_layer(config, chosen.rules));
  OMNIBAL_RETURN_IF_ERROR(trained_parameters(parameters_of(pipeline.stages), chosen.rules, {}).ok()
                              ? Status()
                              : Status(Error(ErrorCode::kInternal, "rules")));
  const auto load = [&](MicroBatchIndex m) -> Result<PreparedBatch> {
    return batch_of(config, chosen.units[static_cast<std::size_t>(m.value())], 4 + m.value());
  };
  OMNIBAL_ASSIGN(const PipelineReport report, run_pipeline(pipeline, *groups.pp, {load}));
  const std::lock_guard lock(mutex);
  if (groups.tp->rank() > 0) return {};
  outcome.loss += report.loss;
  gather(pipeline.stages, outcome);
  outcome.most_held.resize(static_cast<std::size_t>(compute.num_stages));
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    outcome.most_held[static_cast<std::size_t>(pipeline.stages[i].index.value())] =
        report.most_held[i];
  }
  return {};
}

Outcome run(const Case& chosen) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, chosen.json);
  write_sample_weights(scratch, config);
  Outcome outcome;
  std::mutex mutex;
  const int ranks = static_cast<int>(schedule_of(chosen).ranks.size()) * chosen.tp;
  const Status status = run_thread_ranks(ranks, [&](Communicator& world) {
    return run_rank(chosen, scratch, config, world, outcome, mutex);
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
  return outcome;
}

class RuntimePipeline : public testing::TestWithParam<Case> {};

TEST_P(RuntimePipeline, LossesAndGradientsAreThoseOfOneRank) {
  const Case& chosen = GetParam();
  const Outcome one = run({.name = "one", .rules = chosen.rules, .json = chosen.json});
  const Outcome several = run(chosen);
  EXPECT_NEAR(several.loss, one.loss, 1e-12 * one.loss);
  EXPECT_EQ(several.most_held, schedule::in_flight(schedule_of(chosen)));
  for (const auto& [name, expected] : one.gradients) {
    const at::Tensor& found = several.gradients.at(name);
    ASSERT_EQ(found.defined(), expected.defined()) << name;
    if (!expected.defined() || chosen.tp > 1) continue;
    EXPECT_LE((found - expected).norm().item<double>(), 1e-12 * expected.norm().item<double>())
        << name;
  }
}

// Layers: vision.0 vision.1 projector token_embedding llm.0 llm.1 head
const std::vector<Case> kCases = {
    {.name = "GPipe", .kind = ScheduleKind::kGPipe, .cuts = {1, 4}},
    {.name = "OneFOneB", .cuts = {1, 3, 5}},
    {.name = "OneLayerAStage", .cuts = {1, 2, 3, 4, 5, 6}},
    {.name = "Interleaved", .kind = ScheduleKind::kInterleaved, .cuts = {1, 2, 4}, .chunks = 2},
    // Token embedding and head in two stages of one rank.
    {.name = "TiedInOneRank", .kind = ScheduleKind::kInterleaved, .cuts = {1, 4, 6}, .chunks = 2},
    {.name = "ZbH1", .kind = ScheduleKind::kZbH1, .cuts = {1, 4, 5}},
    {.name = "ZbH1Recomputed",
     .kind = ScheduleKind::kZbH1,
     .cuts = {1, 5},
     .recompute = std::vector<Recompute>(7, Recompute::kEverything)},
    {.name = "ZbV", .kind = ScheduleKind::kZbV, .cuts = {1, 3, 5}, .chunks = 2},
    {.name = "TensorParallel", .kind = ScheduleKind::kZbH1, .cuts = {4}, .tp = 2},
    {.name = "FrozenVision",
     .cuts = {1, 3, 5},
     .rules = {.lr = 1, .weight_decay = 0, .frozen = {"vision"}}},
    {.name = "FrozenVisionAndLanguage",
     .kind = ScheduleKind::kZbH1,
     .cuts = {1, 2, 4},
     .rules = {.lr = 1, .weight_decay = 0, .frozen = {"vision", "language"}}},
    {.name = "Llava", .cuts = {1, 3, 5}, .json = llava_json(4, 4, 2, false)},
};

INSTANTIATE_TEST_SUITE_P(Schedules, RuntimePipeline, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

void expect_equal_bits(const Outcome& found, const Outcome& expected) {
  EXPECT_EQ(found.loss, expected.loss);
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_TRUE(at::equal(found.gradients.at(name), gradient)) << name;
  }
}

TEST(RuntimePipelineSteps, RecomputationChangesNoBit) {
  for (const ScheduleKind kind : {ScheduleKind::kOneFOneB, ScheduleKind::kZbH1}) {
    const Case none = {.name = "none", .kind = kind, .cuts = {1, 4}};
    const Outcome expected = run(none);
    for (const std::vector<Recompute>& recompute :
         {std::vector<Recompute>{Recompute::kEverything, Recompute::kMlp, Recompute::kEverything,
                                 Recompute::kNothing, Recompute::kAttention,
                                 Recompute::kAttentionAndMlp, Recompute::kNothing},
          std::vector<Recompute>(7, Recompute::kEverything)}) {
      Case some = none;
      some.recompute = recompute;
      expect_equal_bits(run(some), expected);
    }
  }
}

TEST(RuntimePipelineSteps, ZeroWeightPacksContributeExactlyNothing) {
  for (const ScheduleKind kind : {ScheduleKind::kOneFOneB, ScheduleKind::kZbH1}) {
    Case chosen = {.name = "", .kind = kind, .cuts = {1, 4}, .units = {2, 1}};
    const Outcome expected = run(chosen);
    chosen.units = {2, 1, -1};
    expect_equal_bits(run(chosen), expected);
    chosen.units = {-1};
    const Outcome nothing = run(chosen);
    EXPECT_EQ(nothing.loss, 0);
    for (const auto& [name, gradient] : nothing.gradients) {
      if (!gradient.defined()) continue;
      EXPECT_EQ(gradient.abs().sum().item<double>(), 0) << name;
    }
  }
}

TEST(RuntimePipelineSteps, AnErrorOfOneRankEndsAll) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, internvl_json(4, 4, 2, false));
  const schedule::Schedule compute = *schedule::make_schedule(ScheduleKind::kOneFOneB, 3, 4);
  std::vector<ErrorCode> heard(3, ErrorCode::kInternal);
  const Status status = run_thread_ranks(3, [&](Communicator& world) -> Status {
    Pipeline pipeline{schedule::lower(compute), {}, 0};
    pipeline.stages = make_pipeline_stages(config, {compute, {1, 4}}, RankIndex{world.rank()},
                                           {std::vector<Recompute>(7), at::kDouble, nullptr});
    const auto load = [&](MicroBatchIndex m) -> Result<PreparedBatch> {
      if (world.rank() == 0 && m.value() == 2) {
        return Error(ErrorCode::kMalformedImage, "the picture ends early");
      }
      return batch_of(config, 1, 9);
    };
    const Result<PipelineReport> report = run_pipeline(pipeline, world, {load});
    heard[static_cast<std::size_t>(world.rank())] =
        report.ok() ? ErrorCode::kInternal : report.error().code;
    return report.ok() ? Status() : Status(report.error());
  });
  EXPECT_EQ(status.error().code, ErrorCode::kMalformedImage);
  for (const ErrorCode code : heard) EXPECT_EQ(code, ErrorCode::kMalformedImage);
}

}  // namespace
}  // namespace omnibal::runtime
