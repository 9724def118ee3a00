// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include "omnibal/runtime/comm/thread_ranks.h"

namespace omnibal::runtime {
namespace {

using testing::HasSubstr;

/// Numbers without pattern, the same in every rank.
at::Tensor numbers(std::vector<std::int64_t> sizes, double seed, at::ScalarType type) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  const at::Tensor flat = at::arange(count, at::dtype(at::kDouble));
  return at::sin(flat * 12.9898 + seed * 78.233).view(sizes).to(type);
}

/// A small network: odd sizes, a scalar-like parameter, one that no loss reaches.
struct Network {
  explicit Network(at::ScalarType type)
      : hidden(numbers({5, 7}, 1, type)),
        bias(numbers({5}, 2, type)),
        out(numbers({3, 5}, 3, type)),
        scale(numbers({1}, 4, type)),
        unreached(numbers({11}, 5, type)) {
    for (const at::Tensor& tensor : all()) tensor.set_requires_grad(true);
  }

  std::vector<at::Tensor> all() const { return {hidden, bias, out, scale, unreached}; }

  at::Tensor loss(int sample) const {
    const at::Tensor x = numbers({4, 7}, 100 + sample, hidden.scalar_type());
    const at::Tensor y = at::tanh(at::matmul(x, hidden.t()) + bias);
    const at::Tensor error = at::matmul(y, out.t()) * scale - 0.5;
    return (error * error).sum();
  }

  at::Tensor hidden, bias, out, scale, unreached;
};

OptimizerOptions small_buckets() {
  OptimizerOptions options;
  options.groups = {{.lr = 0.05, .weight_decay = 0.1}, {.lr = 0.02, .weight_decay = 0}};
  options.schedule = {.shape = ScheduleShape::kCosine, .num_warmup = 2, .num_steps = 20};
  options.max_norm = 0.5;
  options.bucket_size = 20;
  return options;
}

std::vector<TrainedParameter> trained(const Network& network) {
  const char* names[] = {"hidden", "bias", "out", "scale", "unreached"};
  std::vector<TrainedParameter> parameters;
  for (const at::Tensor& tensor : network.all()) {
    TrainedParameter& parameter = parameters.emplace_back();
    parameter.name = names[parameters.size() - 1];
    parameter.tensor = tensor;
    parameter.group = parameter.name == "bias" ? 1 : 0;
    parameter.counted = {{0, tensor.numel()}};
  }
  return parameters;
}

constexpr int kSamples = 8;  // a step

/// Backward of this rank's share of a step's samples.
void backward(const Network& network, const Communicator& world, std::int64_t step) {
  for (int s = world.rank(); s < kSamples; s += world.size()) {
    network.loss(static_cast<int>(step) * kSamples + s).backward();
  }
}

using State = std::map<std::string, at::Tensor>;  // "hidden/master" -> whole, flat

/// Writes a rank's pieces into whole tensors, or reads them from there.
void exchange_state(Optimizer& optimizer, const Network& network, State& state, bool save) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto parameters = trained(network);
  for (const StatePiece& piece : optimizer.state()) {
    at::Tensor& whole =
        state[std::string(piece.parameter) + "/" + std::string(name_of(piece.kind))];
    if (!whole.defined()) {
      for (const TrainedParameter& parameter : parameters) {
        if (parameter.name == piece.parameter) {
          whole = at::zeros({parameter.tensor.numel()}, piece.values.options());
        }
      }
    }
    const at::Tensor part = whole.narrow(0, piece.begin, piece.values.numel());
    save ? part.copy_(piece.values) : piece.values.copy_(part);
  }
}

struct Outcome {
  std::vector<double> norms;
  State state;
  std::vector<at::Tensor> weights;  // of rank 0
};

struct Course {
  std::int64_t first_step = 0;
  std::int64_t num_steps = 6;
  State start = {};     // empty: as initialised
  bool overlap = true;  // buckets are reduced as backward completes them
};

Outcome train(int num_ranks, at::ScalarType type, const Course& course = {},
              const OptimizerOptions& options = small_buckets()) {
  Outcome outcome;
  const Status status = run_thread_ranks(num_ranks, [&](Communicator& world) -> Status {
    const Network network(type);
    OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(trained(network), options, world, world));
    if (!course.start.empty()) {
      State start = course.start;
      exchange_state(*optimizer, network, start, false);
      OMNIBAL_RETURN_IF_ERROR(optimizer->publish_weights());
      optimizer->set_step(course.first_step);
    }
    for (std::int64_t i = 0; i < course.num_steps; ++i) {
      optimizer->begin_step(course.overlap ? kSamples / world.size() : 0);
      backward(network, world, course.first_step + i);
      OMNIBAL_ASSIGN(const StepReport report, optimizer->finish_step(1.0 / kSamples));
      if (world.rank() == 0) outcome.norms.push_back(report.gradient_norm);
    }
    exchange_state(*optimizer, network, outcome.state, true);
    if (world.rank() == 0) {
      for (const at::Tensor& tensor : network.all()) {
        outcome.weights.push_back(tensor.detach().clone());
      }
    }
    return {};
  });
  EXPECT_TRUE(status.ok()) << to_text(status.error());
  return outcome;
}

double largest_difference(const Outcome& a, const Outcome& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    largest = std::max(largest, (a.weights[i] - b.weights[i]).abs().max().item<double>());
  }
  for (const auto& [name, values] : a.state) {
    largest = std::max(largest, (values - b.state.at(name)).abs().max().item<double>());
  }
  return largest;
}

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
