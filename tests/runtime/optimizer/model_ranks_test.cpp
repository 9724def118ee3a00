// SPDX-License-Identifier: Apache-2.0
// Ranks that hold different or the same parts of one model, without data-parallel ranks.
#include "omnibal/runtime/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include "runtime/optimizer/small_network.h"

namespace omnibal::runtime {
namespace {

using namespace small_network;

// Two shards of one replica: both hold `hidden`, each has half of its gradient, one counts it.
TEST(Optimizer, AReplicatedParameterIsSummedAndCountedOnce) {
  OptimizerOptions options = small_buckets();
  const Outcome one = train(1, at::kDouble, {.num_steps = 1});
  const Status status = run_thread_ranks(2, [&](Communicator& world) -> Status {
    const Network network(at::kDouble);
    OMNIBAL_ASSIGN(const auto alone, world.split(world.rank(), 0, "dp"));
    std::vector<TrainedParameter> parameters = trained(network);
    for (TrainedParameter& parameter : parameters) {
      if (world.rank() == 1) parameter.counted.clear();
      parameter.sum_over_model = [&world](const at::Tensor& gradient) {
        return world
            .all_reduce(gradient.mutable_data_ptr(), static_cast<std::size_t>(gradient.numel()),
                        Element::kF64, Reduction::kSum)
            .wait();
      };
    }
    OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(parameters, options, *alone, world));
    optimizer->begin_step(kSamples / 2);
    backward(network, world, 0);
    OMNIBAL_ASSIGN(const StepReport report, optimizer->finish_step(1.0 / kSamples));
    EXPECT_NEAR(report.gradient_norm, one.norms[0], 1e-12);
    EXPECT_LT((network.hidden.detach() - one.weights[0]).abs().max().item<double>(), 1e-12);
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
}

/// A step of a rank that runs all samples itself.
Result<StepReport> step_with_all(const Network& network,
                                 const std::vector<TrainedParameter>& parameters,
                                 Communicator& alone, Communicator& world) {
  OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(parameters, small_buckets(), alone, world));
  optimizer->begin_step(kSamples);
  for (int s = 0; s < kSamples; ++s) network.loss(s).backward();
  return optimizer->finish_step(1.0 / kSamples);
}

// Each of two ranks counts one half of the columns of the same matrix.
TEST(Optimizer, PartsOfAParameterMayBeCountedByOtherRanks) {
  const Outcome one = train(1, at::kDouble, {.num_steps = 1});
  const Status status = run_thread_ranks(2, [&](Communicator& world) -> Status {
    const Network network(at::kDouble);
    OMNIBAL_ASSIGN(const auto alone, world.split(world.rank(), 0, "dp"));
    std::vector<TrainedParameter> parameters = trained(network);
    for (TrainedParameter& parameter : parameters) {
      if (world.rank() == 1) parameter.counted.clear();
    }
    parameters[0].counted =
        world.rank() == 0 ? block_of({5, 7}, 1, 0, 3) : block_of({5, 7}, 1, 3, 4);
    OMNIBAL_ASSIGN(const StepReport report, step_with_all(network, parameters, *alone, world));
    EXPECT_NEAR(report.gradient_norm, one.norms[0], 1e-12);
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
}

TEST(Optimizer, ARankWhosePartsAreFrozenStepsWithTheOthers) {
  const Outcome one = train(1, at::kDouble, {.num_steps = 1});
  const Status status = run_thread_ranks(2, [&](Communicator& world) -> Status {
    const Network network(at::kDouble);
    OMNIBAL_ASSIGN(const auto alone, world.split(world.rank(), 0, "dp"));
    const auto parameters = world.rank() == 0 ? trained(network) : std::vector<TrainedParameter>();
    OMNIBAL_ASSIGN(const StepReport report, step_with_all(network, parameters, *alone, world));
    EXPECT_NEAR(report.gradient_norm, one.norms[0], 1e-12);
    EXPECT_TRUE(world.rank() == 0 || network.hidden.equal(Network(at::kDouble).hidden));
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
}

TEST(TrainedParameter, ABlockIsAsFewRangesAsItHas) {
  const auto text = [](const std::vector<ElementRange>& ranges) {
    std::string all;
    for (const ElementRange& r : ranges) {
      all += std::to_string(r.begin) + "-" + std::to_string(r.end) + " ";
    }
    return all;
  };
  EXPECT_EQ(text(block_of({4, 6}, 0, 1, 2)), "6-18 ");
  EXPECT_EQ(text(block_of({2, 6}, 1, 2, 3)), "2-5 8-11 ");
  EXPECT_EQ(text(block_of({2, 6}, 1, 0, 6)), "0-12 ");
  EXPECT_EQ(text(block_of({2, 3, 2}, 1, 1, 1)), "2-4 8-10 ");
  EXPECT_EQ(text(block_of({5}, 0, 0, 0)), "");
  EXPECT_EQ(text(block_of({}, 0, 0, 1)), "0-1 ");
}

}  // namespace
}  // namespace omnibal::runtime
