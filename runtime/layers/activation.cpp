// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/activation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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
    return {at::silu_backward(dy * saved[1], saved[0]), at::silu(saved[0]).mul_(dy)};
  }
};

}  // namespace

at::Tensor gelu(const at::Tensor& x) { return at::gelu(x); }

at::Tensor quick_gelu(const at::Tensor& x) {
  constexpr double kSlope = 1.702;
  return at::silu(x * kSlope) * (1 / kSlope);  // keeps one tensor; x sigmoid(1.702 x) keeps three
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return SwigluFunction::apply(gate, up);
}

}  // namespace omnibal::runtime
