// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "omnibal/runtime/layers/linear.h"
#include "runtime/optimizer/small_network.h"

namespace omnibal::runtime {
namespace {

using namespace small_network;

TEST(Optimizer, AnyNumberOfRanksStepsAsOne) {
  const Outcome one = train(1, at::kDouble);
  for (const int num_ranks : {2, 4, 8}) {
    const Outcome several = train(num_ranks, at::kDouble);
    EXPECT_LT(largest_difference(one, several), 1e-12) << num_ranks;
    for (std::size_t i = 0; i < one.norms.size(); ++i) {
      EXPECT_NEAR(several.norms[i], one.norms[i], 1e-12);
    }
  }
  EXPECT_LT(largest_difference(train(1, at::kFloat), train(4, at::kFloat)), 1e-5);
}

TEST(Optimizer, ARunRepeatsToTheLastBit) {
  const Outcome first = train(4, at::kFloat);
  EXPECT_EQ(largest_difference(first, train(4, at::kFloat)), 0);
  EXPECT_EQ(first.norms, train(4, at::kFloat).norms);
}

TEST(Optimizer, ReducingWhileBackwardRunsChangesNothing) {
  const Outcome overlapped = train(4, at::kFloat);
  EXPECT_EQ(largest_difference(overlapped, train(4, at::kFloat, {.overlap = false})), 0);
}

TEST(Optimizer, ItsStateResumesToTheLastBitAndOnOtherNumbersOfRanks) {
  const Outcome whole = train(2, at::kDouble, {.num_steps = 6});
  const Outcome begin = train(2, at::kDouble, {.num_steps = 3});
  const Course rest = {.first_step = 3, .num_steps = 3, .start = begin.state};
  EXPECT_EQ(largest_difference(whole, train(2, at::kDouble, rest)), 0);
  EXPECT_LT(largest_difference(whole, train(4, at::kDouble, rest)), 1e-12);
  EXPECT_LT(largest_difference(whole, train(1, at::kDouble, rest)), 1e-12);
}

TEST(Optimizer, AParameterWithoutGradientHasGradientZero) {
  const Outcome outcome = train(2, at::kDouble);
  EXPECT_EQ(outcome.state.at("unreached/exp_avg").abs().max().item<double>(), 0);
  double decayed = 1;
  for (int step = 0; step < 6; ++step) {
    decayed *= 1 - 0.05 * 0.1 * learning_rate_factor(small_buckets().schedule, step);
  }
  const at::Tensor expected = Network(at::kDouble).unreached.detach() * decayed;
  EXPECT_LT((outcome.weights[4] - expected).abs().max().item<double>(), 1e-12);
}

// bf16 has steps of 2^-8: weights of about 1 would never move by 1e-4.
TEST(Optimizer, Bf16WeightsFollowTheirFp32Masters) {
  OptimizerOptions options = small_buckets();
  options.groups = {{.lr = 1e-4, .weight_decay = 0}, {.lr = 1e-4, .weight_decay = 0}};
  options.schedule = {.shape = ScheduleShape::kConstant};
  const Outcome outcome = train(2, at::kBFloat16, {.num_steps = 6}, options);
  const at::Tensor& master = outcome.state.at("scale/master");
  EXPECT_EQ(master.scalar_type(), at::kFloat);
  const at::Tensor start = Network(at::kBFloat16).scale.detach().to(at::kFloat);
  EXPECT_NEAR((master - start).abs().item<double>(), 6e-4, 1e-5);
  EXPECT_TRUE(outcome.weights[3].equal(master.to(at::kBFloat16)));
  EXPECT_LT(largest_difference(outcome, train(1, at::kBFloat16, {.num_steps = 6}, options)), 1e-2);
}

TEST(Optimizer, ANormThatIsNotFiniteChangesNoWeight) {
  const Status status = run_thread_ranks(2, [](Communicator& world) -> Status {
    const Network network(at::kFloat);
    OMNIBAL_ASSIGN(auto optimizer,
                   Optimizer::make(trained(network), small_buckets(), world, world));
    optimizer->begin_step(1);
    const double factor = world.rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    (network.loss(0) * factor).backward();
    const auto report = optimizer->finish_step(1.0);
    EXPECT_EQ(report.error().code, ErrorCode::kOutOfRange);
    EXPECT_TRUE(network.hidden.equal(Network(at::kFloat).hidden));
    EXPECT_EQ(optimizer->step(), 0);
    return {};
  });
  EXPECT_TRUE(status.ok());
}

TEST(Optimizer, GradientsAddedByHandAreReducedToo) {
  const Outcome by_hook = train(2, at::kDouble, {.num_steps = 1});
  const Status status = run_thread_ranks(2, [&](Communicator& world) -> Status {
    const Network network(at::kDouble);
    OMNIBAL_ASSIGN(auto optimizer,
                   Optimizer::make(trained(network), small_buckets(), world, world));
    Network twin(at::kDouble);
    backward(twin, world, 0);
    optimizer->begin_step(1);
    for (std::size_t i = 0; i < 4; ++i) {
      network.all()[i].mutable_grad().add_(twin.all()[i].grad());
      optimizer->accumulated(network.all()[i]);
    }
    OMNIBAL_ASSIGN(const StepReport report, optimizer->finish_step(1.0 / kSamples));
    EXPECT_EQ(report.gradient_norm, by_hook.norms[0]);
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
}

/// Of four micro-batches through a linear layer, a bucket a parameter.
double norm_of_linear(int num_ranks, at::ScalarType type, bool deferred) {
  constexpr int kMicroBatches = 4;
  double norm = 0;
  const Status status = run_thread_ranks(num_ranks, [&](Communicator& world) -> Status {
    const Linear layer{numbers({5, 7}, 1, type), numbers({5}, 2, type)};
    std::vector<TrainedParameter> parameters;
    for (const at::Tensor& tensor : {layer.weight, layer.bias}) {
      tensor.set_requires_grad(true);
      TrainedParameter& parameter = parameters.emplace_back();
      parameter.name = std::to_string(parameters.size());
      parameter.tensor = tensor;
      parameter.counted = {{0, tensor.numel()}};
    }
    OptimizerOptions options = small_buckets();
    options.bucket_size = 1;
    OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(parameters, options, world, world));
    const DeferralCalls calls{[&](const at::Tensor& p) { optimizer->deferred(p); },
                              [&](const at::Tensor& p) { optimizer->accumulated(p); }};
    optimizer->begin_step(kMicroBatches / num_ranks);
    for (int m = world.rank(); m < kMicroBatches; m += num_ranks) {
      WeightGradients later;
      later.report_to(calls);
      const at::Tensor x = numbers({4, 7}, 100 + m, type).set_requires_grad(true);
      const at::Tensor y = linear(x, layer, deferred ? &later : nullptr);
      (y * y).sum().backward();
      later.flush();
    }
    OMNIBAL_ASSIGN(const StepReport report, optimizer->finish_step(1.0));
    if (world.rank() == 0) norm = report.gradient_norm;
    return {};
  });
  EXPECT_TRUE(status.ok());
  return norm;
}

TEST(Optimizer, NoReductionBeginsBeforeTheLastMicroBatchOfALinearLayer) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
    for (const bool deferred : {false, true}) {
      const double one = norm_of_linear(1, type, deferred);
      EXPECT_NEAR(norm_of_linear(2, type, deferred), one, 1e-6 * one) << type << deferred;
    }
  }
}

TEST(Optimizer, RefusesParametersOfSeveralTypes) {
  const auto world = make_thread_world(1);
  const Network network(at::kFloat);
  std::vector<TrainedParameter> parameters = trained(network);
  parameters[2].tensor = at::zeros({3}, at::dtype(at::kDouble));
  const auto optimizer = Optimizer::make(parameters, small_buckets(), *world[0], *world[0]);
  EXPECT_EQ(optimizer.error().code, ErrorCode::kWrongType);
  EXPECT_EQ(optimizer.error().where.key, "out");
}

}  // namespace
}  // namespace omnibal::runtime
