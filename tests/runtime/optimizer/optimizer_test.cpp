// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <limits>

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
