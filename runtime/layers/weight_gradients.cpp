// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/weight_gradients.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "layers/weight_gradient.h"

namespace omnibal::runtime {
at::Tensor weight_gradient(const at::Tensor& input, const at::Tensor& output_gradient) {
  return output_gradient.t().mm(input);
}

void add_to_gradient(const at::Tensor& own, const at::Tensor& gradient) {
  const bool widens = own.scalar_type() == at::kFloat && gradient.scalar_type() == at::kBFloat16;
  if (!widens || !own.is_contiguous() || !gradient.is_contiguous()) {
    own.add_(gradient);
    return;
  }
  float* const sums = own.mutable_data_ptr<float>();
  const c10::BFloat16* const parts = gradient.const_data_ptr<c10::BFloat16>();
  const std::int64_t count = own.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] += std::bit_cast<float>(static_cast<std::uint32_t>(parts[i].x) << 16);
  }
}

at::Tensor returned_gradient(const at::Tensor& parameter, at::Tensor gradient) {
  const at::Tensor& own = parameter.grad();
  if (!own.defined() || own.scalar_type() == gradient.scalar_type()) return gradient;
  add_to_gradient(own, gradient);
  return {};
}

at::Tensor bias_gradient(const at::Tensor& output_gradient) { return output_gradient.sum(0); }

void WeightGradients::add(at::Tensor input, at::Tensor output_gradient, at::Tensor weight,
                          at::Tensor bias) {
  if (!weight.defined() && !bias.defined()) return;
  if (calls_ != nullptr && calls_->on_deferred) {
    if (weight.defined()) calls_->on_deferred(weight);
    if (bias.defined()) calls_->on_deferred(bias);
  }
  entries_.push_back(
      {std::move(input), std::move(output_gradient), std::move(weight), std::move(bias)});
}

/// As the engine does behind a backward: the first gradient becomes the parameter's own.
void WeightGradients::accumulate(const at::Tensor& parameter, at::Tensor gradient) const {
  at::Tensor& own = parameter.mutable_grad();
  if (own.defined()) {
    add_to_gradient(own, gradient);
  } else {
    own = std::move(gradient);
  }
  if (calls_ != nullptr && calls_->on_added) calls_->on_added(parameter);
}

void WeightGradients::flush() {
  const c10::NoGradGuard no_graph;
  for (Entry& entry : entries_) {
    if (entry.weight.defined()) {
      accumulate(entry.weight, weight_gradient(entry.input, entry.output_gradient));
    }
    if (entry.bias.defined()) accumulate(entry.bias, bias_gradient(entry.output_gradient));
    entry = {};  // frees its tensors before the next are computed
  }
  entries_.clear();
}

}  // namespace omnibal::runtime
