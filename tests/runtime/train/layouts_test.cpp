// SPDX-License-Identifier: Apache-2.0
// Ten steps of the optimizer on models cut and divided in every way, against one rank. Linked once
// with threads and once with MPI.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "omnibal/runtime/comm/process_groups.h"
#include "omnibal/runtime/layers/communicator_group.h"
#include "omnibal/runtime/model/tape.h"
#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/optimizer/optimizer.h"
#include "omnibal/runtime/train/trained_parameters.h"
#include "runtime/comm/ranks_under_test.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

constexpr int kMicroBatches = 4;
constexpr int kSteps = 10;

struct Case {
  RankLayout layout;
  std::int64_t cut = 0;  // first layer of the second of two stages
  GroupRules rules = {.lr = 1e-3, .weight_decay = 0.1};
};

struct Outcome {
  std::vector<double> losses, norms;
  std::map<std::string, at::Tensor> weights;  // whole; of one rank alone
};

/// What a rank needs to run its stage.
struct Worker {
  const Case& chosen;
  const ModelConfig& config;
  ProcessGroups& groups;
  Stage& stage;

  bool first() const { return groups.pp->rank() == 0; }
  bool last() const { return groups.pp->rank() + 1 == groups.pp->size(); }
};

/// One micro-batch, forward and back at once; the loss, or 0 where this stage has no head.
Result<double> run_micro_batch(const Worker& worker, const PreparedBatch& batch) {
  const Stage& stage = worker.stage;
  Communicator& pp = *worker.groups.pp;
  const Pass pass{batch, stage.options.group};
  const auto own_empty = [&](std::int64_t layer) {
    return at::empty(output_shape(worker.config, layer, batch, stage.options.group), at::kDouble);
  };
  at::Tensor input;
  if (!worker.first()) {
    input = own_empty(stage.options.first - 1).set_requires_grad(true);
    OMNIBAL_RETURN_IF_ERROR(
        pp.receive(input.mutable_data_ptr(), input.nbytes(), pp.rank() - 1, 0).wait());
  }
  Tape tape;
  const std::vector<bool> recompute(stage.layers.size(), true);
  const at::Tensor output = run_forward(stage, input, pass, recompute, tape);
  at::Tensor gradient = at::ones({}, at::kDouble);
  if (!worker.last()) {
    OMNIBAL_RETURN_IF_ERROR(
        pp.send(output.const_data_ptr(), output.nbytes(), pp.rank() + 1, 0).wait());
    gradient = own_empty(stage.options.end - 1);
    OMNIBAL_RETURN_IF_ERROR(
        pp.receive(gradient.mutable_data_ptr(), gradient.nbytes(), pp.rank() + 1, 1).wait());
  }
  at::Tensor back = run_backward(stage, gradient, pass, tape);
  if (!worker.first()) {
    back = back.defined() ? back.contiguous() : at::zeros_like(input);
    OMNIBAL_RETURN_IF_ERROR(pp.send(back.const_data_ptr(), back.nbytes(), pp.rank() - 1, 1).wait());
  }
  return worker.last() && worker.groups.tp->rank() == 0 ? output.item<double>() : 0.0;
}

Status run_steps(const Worker& worker, Communicator& world, Optimizer& optimizer,
                 Outcome& outcome) {
  Communicator& dp = *worker.groups.dp;
  for (int step = 0; step < kSteps; ++step) {
    optimizer.begin_step(kMicroBatches / dp.size());
    double loss = 0;
    for (int m = dp.rank(); m < kMicroBatches; m += dp.size()) {
      const PreparedBatch batch = sample_batch(worker.config, m % 3, 4 + m);
      OMNIBAL_ASSIGN(const double part, run_micro_batch(worker, batch));
      loss += part;
    }
    OMNIBAL_RETURN_IF_ERROR(world.all_reduce(&loss, 1, Element::kF64, Reduction::kSum).wait());
    OMNIBAL_ASSIGN(const StepReport report, optimizer.finish_step(0.1));
    outcome.losses.push_back(loss);
    outcome.norms.push_back(report.gradient_norm);
  }
  return {};
}

int stage_of(const Case& chosen, const ModelConfig& config, model::LayerKind kind) {
  std::int64_t layer = 0;
  while (config.spec.layers[static_cast<std::size_t>(layer)].kind != kind) ++layer;
  return chosen.layout.pp == 2 && layer >= chosen.cut ? 1 : 0;
}

/// This rank's share of the training; `compare`, if any, is what its weights must be.
Status train_rank(const Case& chosen, const ScratchDirectory& scratch, const ModelConfig& config,
                  Communicator& world, Outcome& outcome, const Outcome* compare) {
  at::set_num_threads(1);
  const EmbeddingStages ends = {stage_of(chosen, config, model::LayerKind::kTokenEmbedding),
                                stage_of(chosen, config, model::LayerKind::kHead)};
  OMNIBAL_ASSIGN(ProcessGroups groups, make_process_groups(world, chosen.layout, ends));
  const CommunicatorGroup tensor(*groups.tp);
  const auto num_layers = static_cast<std::int64_t>(config.spec.layers.size());
  const bool front = chosen.layout.pp == 1 || groups.pp->rank() == 0;
  Stage stage = make_stage(config, {.first = front ? 0 : chosen.cut,
                                    .end = front && chosen.layout.pp == 2 ? chosen.cut : num_layers,
                                    .type = at::kDouble,
                                    .group = chosen.layout.tp > 1 ? &tensor : nullptr});
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(scratch.path()));
  OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, stage));
  Communicator* tie = config.spec.language.tied_embedding ? groups.tie.get() : nullptr;
  OMNIBAL_ASSIGN(const TrainedStage trained,
                 trained_parameters(stage.parameters, chosen.rules, {stage.options.group, tie}));
  OptimizerOptions options;
  options.groups = trained.groups;
  options.schedule = {.num_warmup = 2, .num_steps = kSteps};
  options.max_norm = 0.5;
  options.bucket_size = 200;
  OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(trained.parameters, options, *groups.dp, world));
  OMNIBAL_RETURN_IF_ERROR(run_steps({chosen, config, groups, stage}, world, *optimizer, outcome));
  for (const Parameter& parameter : stage.parameters) {
    const at::Tensor found = parameter.tensor.detach();
    if (compare == nullptr) {
      outcome.weights[parameter.name] = found.clone();
      continue;
    }
    const at::Tensor expected =
        compare->weights.at(parameter.name)
            .narrow(parameter.split_dimension, parameter.held.begin, parameter.held.count);
    EXPECT_LE((found - expected).norm().item<double>(), 1e-9 * expected.norm().item<double>())
        << parameter.name << " on rank " << world.rank();
  }
  return {};
}

Outcome train(const Case& chosen, const std::string& json, const Outcome* compare) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, json);
  write_sample_weights(scratch, config);
  Outcome outcome;
  std::mutex mutex;
  const Status status = run_ranks(chosen.layout.num_ranks(), [&](Communicator& world) -> Status {
    Outcome own;  // the same on each rank
    OMNIBAL_RETURN_IF_ERROR(train_rank(chosen, scratch, config, world, own, compare));
    const std::lock_guard lock(mutex);
    outcome = std::move(own);
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
  return outcome;
}

struct Model {
  std::string name, json;
  GroupRules rules = {.lr = 1e-3, .weight_decay = 0.1};
};

class RuntimeLayouts : public testing::TestWithParam<std::tuple<Model, Case>> {};

TEST_P(RuntimeLayouts, TenStepsAreThoseOfOneRank) {
  const auto& [model, layout] = GetParam();
  Case chosen = layout;
  chosen.rules = model.rules;
  if (!can_run(chosen.layout.num_ranks())) GTEST_SKIP() << "another number of processes";
  const Outcome one = train({.layout = {}, .rules = model.rules}, model.json, nullptr);
  const Outcome several = train(chosen, model.json, &one);
  ASSERT_EQ(one.losses.size(), kSteps);
  ASSERT_EQ(several.losses.size(), kSteps);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(several.losses[i], one.losses[i], 1e-12 * one.losses[i]);
    EXPECT_NEAR(several.norms[i], one.norms[i], 1e-9 * one.norms[i]);
  }
}

const std::vector<Model> kModels = {
    {.name = "Tied", .json = internvl_json(4, 8, 4, true)},
    {.name = "HeadsDoNotDivide", .json = llava_json(3, 6, 3, false)},
    {.name = "Frozen",
     .json = internvl_json(4, 4, 2, true),
     .rules =
         {.lr = 1e-3, .weight_decay = 0.1, .frozen = {"vision"}, .part_lr = {{"projector", 1e-2}}}},
};
const std::vector<Case> kLayouts = {
    {.layout = {.dp = 2}},
    {.layout = {.dp = 4}},
    {.layout = {.tp = 2}},
    {.layout = {.pp = 2}, .cut = 1},
    {.layout = {.pp = 2}, .cut = 4},
    {.layout = {.dp = 2, .tp = 2}},
    {.layout = {.dp = 2, .pp = 2}, .cut = 4},
    {.layout = {.pp = 2, .tp = 2}, .cut = 2},
    {.layout = {.dp = 2, .pp = 2, .tp = 2}, .cut = 4},
};

std::string name_of(const testing::TestParamInfo<std::tuple<Model, Case>>& info) {
  const auto& [model, chosen] = info.param;
  return model.name + "Dp" + std::to_string(chosen.layout.dp) + "Pp" +
         std::to_string(chosen.layout.pp) + "Tp" + std::to_string(chosen.layout.tp) + "Cut" +
         std::to_string(chosen.cut);
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeLayouts,
                         testing::Combine(testing::ValuesIn(kModels), testing::ValuesIn(kLayouts)),
                         name_of);

}  // namespace
}  // namespace omnibal::runtime
