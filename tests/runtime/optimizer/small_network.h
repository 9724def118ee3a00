// SPDX-License-Identifier: Apache-2.0
//
// A small network that ranks in threads train together with the optimizer under test.
//
//   const Outcome one = train(1, at::kDouble);
//   const Outcome four = train(4, at::kDouble, {.num_steps = 6});
//   largest_difference(one, four);
//
// Not a vision-language model.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/optimizer/optimizer.h"

namespace omnibal::runtime::small_network {

/// Numbers without pattern, the same in every rank.
inline at::Tensor numbers(std::vector<std::int64_t> sizes, double seed, at::ScalarType type) {
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

inline OptimizerOptions small_buckets() {
  OptimizerOptions options;
  options.groups = {{.lr = 0.05, .weight_decay = 0.1}, {.lr = 0.02, .weight_decay = 0}};
  options.schedule = {.shape = ScheduleShape::kCosine, .num_warmup = 2, .num_steps = 20};
  options.max_norm = 0.5;
  options.bucket_size = 20;
  return options;
}

inline std::vector<TrainedParameter> trained(const Network& network) {
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

inline constexpr int kSamples = 8;  // a step

/// Backward of this rank's share of a step's samples.
inline void backward(const Network& network, const Communicator& world, std::int64_t step) {
  for (int s = world.rank(); s < kSamples; s += world.size()) {
    network.loss(static_cast<int>(step) * kSamples + s).backward();
  }
}

using State = std::map<std::string, at::Tensor>;  // "hidden/master" -> whole, flat

/// Writes a rank's pieces into whole tensors, or reads them from there.
inline void exchange_state(Optimizer& optimizer, const Network& network, State& state, bool save) {
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

inline Outcome train(int num_ranks, at::ScalarType type, const Course& course = {},
                     const OptimizerOptions& options = small_buckets()) {
  Outcome outcome;
  const Status status = run_thread_ranks(num_ranks, [&](Communicator& world) -> Status {
    at::set_num_threads(1);
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

inline double largest_difference(const Outcome& a, const Outcome& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    largest = std::max(largest, (a.weights[i] - b.weights[i]).abs().max().item<double>());
  }
  for (const auto& [name, values] : a.state) {
    largest = std::max(largest, (values - b.state.at(name)).abs().max().item<double>());
  }
  return largest;
}

}  // namespace omnibal::runtime::small_network
