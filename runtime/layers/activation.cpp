// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/activation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Each backward below writes over the gradient that it gets: it comes from the linear layer behind,
// and nobody else has it. The peak of a block's backward is then what its forward kept.

class GeluFunction : public torch::autograd::Function<GeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return at::gelu(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    at::Tensor dy = gradients[0];
    at::gelu_backward_out(dy, dy, context->get_saved_variables()[0]);
    return {dy};
  }
};

/// silu(k x) / k, whose derivative is that of silu at k x.
class QuickGeluFunction : public torch::autograd::Function<QuickGeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    constexpr double kSlope = 1.702;
    const at::Tensor steep = x * kSlope;
    context->save_for_backward({steep});
    return at::silu(steep).mul_(1 / kSlope);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    at::Tensor dy = gradients[0];
    at::silu_backward_out(dy, dy, context->get_saved_variables()[0]);
    return {dy};
  }
};

/// Rows that the backward takes at once: those in between have memory of their own.
constexpr std::int64_t kRowsAtOnce = 64;

class SwigluFunction : public torch::autograd::Function<SwigluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate,
                            const at::Tensor& up) {
    context->save_for_backward({gate, up});
    return at::silu(gate).mul_(up);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& dy = gradients[0];
    for (std::int64_t begin = 0; begin < dy.size(0); begin += kRowsAtOnce) {
      const std::int64_t rows = std::min(kRowsAtOnce, dy.size(0) - begin);
      const at::Tensor gate = saved[0].narrow(0, begin, rows);
      at::Tensor up = saved[1].narrow(0, begin, rows);
      at::Tensor gradient = dy.narrow(0, begin, rows);
      const at::Tensor of_silu = gradient * up;
      gradient.mul_(at::silu(gate));             // now the gradient of up
      at::silu_backward_out(up, of_silu, gate);  // up is not needed any more: now that of gate
    }
    return {saved[1].detach(), dy};
  }
};

}  // namespace

at::Tensor gelu(const at::Tensor& x) { return GeluFunction::apply(x); }

at::Tensor quick_gelu(const at::Tensor& x) { return QuickGeluFunction::apply(x); }

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return SwigluFunction::apply(gate, up);
}

}  // namespace omnibal::runtime
