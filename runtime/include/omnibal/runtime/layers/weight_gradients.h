// SPDX-License-Identifier: Apache-2.0
//
// WeightGradients: the weight gradients of linear layers that a backward leaves for later, as
// zero-bubble schedules do (arXiv 2401.10241): the queue holds each layer's input and output
// gradient until it is flushed.
//
//   WeightGradients later;
//   linear(x, layer, &later);     // whose backward gives x's gradient and queues the weight's
//   later.flush(on_weight);       // adds to weight.grad() in the order of the backward
//
// Not shared by threads: one queue a micro-batch and rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace omnibal::runtime {

class WeightGradients {
 public:
  /// `bias` may be undefined.
  void add(at::Tensor input, at::Tensor output_gradient, at::Tensor weight, at::Tensor bias);
  /// Computes all and adds them to the parameters' gradients; `on_parameter`, if any, is told of
  /// each parameter behind its addition, as a hook after accumulation is. Empties the queue.
  void flush(const std::function<void(const at::Tensor&)>& on_parameter = {});
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    at::Tensor input, output_gradient, weight, bias;
  };
  std::vector<Entry> entries_;
};

}  // namespace omnibal::runtime
