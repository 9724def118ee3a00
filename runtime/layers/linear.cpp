// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/saved_pointer.h"
#include "layers/weight_gradient.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, WeightGradients* later) {
    const bool trains = weight.requires_grad();
    context->save_for_backward({trains ? x : at::Tensor(), weight, bias.value_or(at::Tensor())});
    context->saved_data["later"] = to_saved(later);
    return at::linear(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& dy = gradients[0];
    variable_list result(4);
    if (context->needs_input_grad(0)) result[0] = dy.mm(saved[1]);
    const bool weight_trains = context->needs_input_grad(1);
    const bool bias_trains = saved[2].defined() && context->needs_input_grad(2);
    if (auto* later = from_saved<WeightGradients>(context->saved_data["later"])) {
      later->add(saved[0], dy, weight_trains ? saved[1] : at::Tensor(),
                 bias_trains ? saved[2] : at::Tensor());
      return result;
    }
    if (weight_trains) result[1] = weight_gradient(saved[0], dy);
    if (bias_trains) result[2] = bias_gradient(dy);
    return result;
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x, const Linear& layer, WeightGradients* later) {
  const std::optional<at::Tensor> bias =
      layer.bias.defined() ? std::optional(layer.bias) : std::nullopt;
  return LinearFunction::apply(x, layer.weight, bias, later);
}

at::Tensor row_parallel(const at::Tensor& x, const Linear& layer, const TensorGroup* group,
                        WeightGradients* later) {
  if (group == nullptr) return linear(x, layer, later);
  const at::Tensor sum = scatter_sum(linear(x, {layer.weight, {}}, later), group);
  return layer.bias.defined() ? sum + layer.bias : sum;
}

}  // namespace omnibal::runtime
