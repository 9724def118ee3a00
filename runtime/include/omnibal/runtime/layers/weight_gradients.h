// SPDX-License-Identifier: Apache-2.0
//
// WeightGradients: the weight gradients of linear layers that a backward leaves for later, as
// zero-bubble schedules do (arXiv 2401.10241): the queue holds each layer's input and output
// gradient until it is flushed.
//
//   WeightGradients later;
//   linear(x, layer, &later);     // whose backward gives x's gradient and queues the weight's
//   later.flush();                // adds to weight.grad() in the order of the backward
//
// Not shared by threads: one queue a micro-batch and rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace omnibal::runtime {

/// Who counts the additions to a parameter's gradient is told of each that is put off, within the
/// backward, and of it again when it is done. The engine's own hooks run behind every backward,
/// also one that returns nothing for the parameter: those of additions that were put off do not
/// count.
struct DeferralCalls {
  std::function<void(const at::Tensor& parameter)> on_deferred = {};
  std::function<void(const at::Tensor& parameter)> on_added = {};
};

class WeightGradients {
 public:
  /// `calls` outlives this.
  void report_to(const DeferralCalls& calls) { calls_ = &calls; }
  /// `bias` may be undefined.
  void add(at::Tensor input, at::Tensor output_gradient, at::Tensor weight, at::Tensor bias);
  /// Computes all and adds them to the parameters' gradients. Empties the queue.
  void flush();
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    at::Tensor input, output_gradient, weight, bias;
  };
  void accumulate(const at::Tensor& parameter, at::Tensor gradient) const;

  std::vector<Entry> entries_;
  const DeferralCalls* calls_ = nullptr;
};

}  // namespace omnibal::runtime
