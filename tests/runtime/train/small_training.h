// SPDX-License-Identifier: Apache-2.0
//
// Small models trained in any layout, stage by stage without a schedule, and the models and layouts
// to do it with.
//
//   const Outcome one = train({}, kModels[0].json, nullptr);
//   const Outcome eight = train(kLayouts.back(), kModels[0].json, &one);   // weights are compared
//   train(chosen, json, nullptr, {.num_steps = 3, .save_to = folder});
//
// Not the trainer: it runs a schedule and reads data.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "omnibal/runtime/comm/process_groups.h"
#include "omnibal/runtime/layers/communicator_group.h"
#include "omnibal/runtime/model/tape.h"
#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/optimizer/optimizer.h"
#include "omnibal/runtime/train/checkpoint.h"
#include "omnibal/runtime/train/trained_parameters.h"
#include "runtime/comm/ranks_under_test.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime::small_training {

inline constexpr int kMicroBatches = 4;
inline constexpr int kSteps = 10;

struct Case {
  RankLayout layout;
  std::int64_t cut = 0;  // first layer of the second of two stages
  GroupRules rules = {.lr = 1e-3, .weight_decay = 0.1};
};

/// Which steps are run, and the checkpoints at both ends.
struct Course {
  int first_step = 0;
  int num_steps = kSteps;
  std::string load_from = {}, save_to = {};  // a checkpoint; a folder of checkpoints
};

struct Outcome {
  std::vector<double> losses, norms;
  std::map<std::string, at::Tensor> weights;  // whole; of one rank alone
};

/// What a rank needs to run its stage.
struct Worker {
  const Course& course;
  const ModelConfig& config;
  ProcessGroups& groups;
  Stage& stage;

  bool first() const { return groups.pp->rank() == 0; }
  bool last() const { return groups.pp->rank() + 1 == groups.pp->size(); }
};

/// One micro-batch, forward and back at once; the loss, or 0 where this stage has no head.
inline Result<double> run_micro_batch(const Worker& worker, const PreparedBatch& batch) {
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
  const std::vector<Recompute> recompute(stage.layers.size(), Recompute::kEverything);
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

inline Status run_steps(const Worker& worker, Communicator& world, Optimizer& optimizer,
                        Outcome& outcome) {
  Communicator& dp = *worker.groups.dp;
  for (int step = 0; step < worker.course.num_steps; ++step) {
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

inline int stage_of(const Case& chosen, const ModelConfig& config, model::LayerKind kind) {
  std::int64_t layer = 0;
  while (config.spec.layers[static_cast<std::size_t>(layer)].kind != kind) ++layer;
  return chosen.layout.pp == 2 && layer >= chosen.cut ? 1 : 0;
}

/// This rank's share of the training; `compare`, if any, is what its weights must be.
inline Status train_rank(const Case& chosen, const Course& course, const ScratchDirectory& scratch,
                         const ModelConfig& config, Communicator& world, Outcome& outcome,
                         const Outcome* compare) {
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
  const CheckpointContent content = {*optimizer, stage.parameters, {{"seed", 7}}};
  if (!course.load_from.empty()) {
    OMNIBAL_ASSIGN(const CheckpointHead head, read_checkpoint_head(course.load_from));
    EXPECT_EQ(head.trainer.at("seed"), 7);
    OMNIBAL_RETURN_IF_ERROR(load_checkpoint(head, content));
    EXPECT_EQ(optimizer->step(), course.first_step);
  }
  OMNIBAL_RETURN_IF_ERROR(run_steps({course, config, groups, stage}, world, *optimizer, outcome));
  if (!course.save_to.empty()) {
    OMNIBAL_RETURN_IF_ERROR(save_checkpoint(course.save_to, content, world, 2));
  }
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

inline Outcome train(const Case& chosen, const std::string& json, const Outcome* compare,
                     const Course& course = {}) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, json);
  write_sample_weights(scratch, config);
  Outcome outcome;
  std::mutex mutex;
  const Status status = run_ranks(chosen.layout.num_ranks(), [&](Communicator& world) -> Status {
    Outcome own;  // the same on each rank
    OMNIBAL_RETURN_IF_ERROR(train_rank(chosen, course, scratch, config, world, own, compare));
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

inline const std::vector<Model> kModels = {
    {.name = "Tied", .json = internvl_json(4, 8, 4, true)},
    {.name = "HeadsDoNotDivide", .json = llava_json(3, 6, 3, false)},
    {.name = "Frozen",
     .json = internvl_json(4, 4, 2, true),
     .rules =
         {.lr = 1e-3, .weight_decay = 0.1, .frozen = {"vision"}, .part_lr = {{"projector", 1e-2}}}},
};
inline const std::vector<Case> kLayouts = {
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

}  // namespace omnibal::runtime::small_training
