// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/layers/communicator_group.h"
#include "omnibal/runtime/model/live_bytes.h"
#include "omnibal/runtime/model/tape.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

/// Where the last layer is recomputed, with deferred weight gradients too.
double train_once(Stage& stage, const PreparedBatch& batch,
                  const std::vector<Recompute>& recompute) {
  WeightGradients later;
  const Pass pass{batch, stage.options.group,
                  recompute.back() == Recompute::kEverything ? &later : nullptr};
  Tape tape;
  const at::Tensor loss = run_forward(stage, {}, pass, recompute, tape);
  run_backward(stage, at::ones({}, loss.options()), pass, tape);
  later.flush();
  return loss.item<double>();
}

/// A parameter that nothing reached has gradient 0.
at::Tensor gradient_of(const Parameter& parameter) {
  const at::Tensor& gradient = parameter.tensor.grad();
  return gradient.defined() ? gradient : at::zeros_like(parameter.tensor.detach());
}

/// Of the whole parameter, as one rank has it.
at::Tensor gradient_of(const Stage& stage, const std::string& name) {
  for (const Parameter& parameter : stage.parameters) {
    if (parameter.name == name) return gradient_of(parameter);
  }
  return {};
}

void expect_close(const at::Tensor& found, const at::Tensor& expected, double scale,
                  const std::string& name, int rank) {
  const double difference = (found - expected).norm().item<double>();
  const double norm = expected.norm().item<double>();
  EXPECT_LE(difference, 1e-9 * norm + 1e-14 * scale) << name << " on rank " << rank;
}

void compare(const std::string& json, int ranks, std::int64_t units) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, json);
  write_sample_weights(scratch, config);
  const PreparedBatch batch = sample_batch(config, units, 9);
  Stage alone = sample_stage(scratch, config, nullptr);
  const double expected = train_once(alone, batch, std::vector<Recompute>(alone.layers.size()));
  double scale = 0;
  for (const Parameter& parameter : alone.parameters) {
    scale = std::max(scale, gradient_of(parameter).norm().item<double>());
  }
  const Status ran = run_thread_ranks(ranks, [&](Communicator& world) -> Status {
    at::set_num_threads(1);
    const CommunicatorGroup group(world);
    Stage stage = sample_stage(scratch, config, &group);
    const std::vector<Recompute> recompute(stage.layers.size(), Recompute::kEverything);
    EXPECT_NEAR(train_once(stage, batch, recompute), expected, 1e-12 * expected);
    for (const Parameter& parameter : stage.parameters) {
      if (!parameter.reachable) continue;
      const at::Tensor found = gradient_of(parameter);
      sum_over_ranks(parameter, found, group);
      const at::Tensor whole = gradient_of(alone, parameter.name);
      expect_close(
          found,
          whole.narrow(parameter.split_dimension, parameter.held.begin, parameter.held.count),
          scale, parameter.name, world.rank());
    }
    return {};
  });
  EXPECT_TRUE(ran.ok()) << to_text(ran.error());
}

TEST(RuntimeTensorParallel, DividingHeads) {
  for (const int ranks : {2, 4}) {
    compare(internvl_json(4, 8, 4, false), ranks, 2);
    compare(llava_json(4, 8, 4, true), ranks, 2);
  }
}

TEST(RuntimeTensorParallel, HeadsThatDoNotDivide) {
  for (const int ranks : {2, 3, 4}) {
    compare(internvl_json(3, 6, 2, true), ranks, 1);
    compare(llava_json(5, 6, 3, false), ranks, 1);
  }
}

TEST(RuntimeTensorParallel, FewerKeyValueHeadsThanRanks) {
  compare(internvl_json(4, 4, 1, false), 4, 2);
  compare(internvl_json(4, 4, 2, false), 4, 2);
}

TEST(RuntimeTensorParallel, ARankKeepsItsShareOfActivations) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, internvl_json(4, 8, 4, false));
  write_sample_weights(scratch, config);
  const PreparedBatch batch = sample_batch(config, 4, 60);
  const auto kept = [&](const TensorGroup* group) {
    Stage stage = sample_stage(scratch, config, group);
    const LiveBytes live;
    Tape tape;
    run_forward(stage, {}, {batch, group}, std::vector<Recompute>(stage.layers.size()), tape);
    return static_cast<double>(live.now());
  };
  const double alone = kept(nullptr);
  const Status ran = run_thread_ranks(2, [&](Communicator& world) -> Status {
    at::set_num_threads(1);
    const CommunicatorGroup group(world);
    EXPECT_LT(kept(&group), 0.56 * alone);
    return {};
  });
  EXPECT_TRUE(ran.ok()) << to_text(ran.error());
}

TEST(RuntimeTensorParallel, NoPicture) { compare(internvl_json(4, 4, 2, true), 2, 0); }

}  // namespace
}  // namespace omnibal::runtime
