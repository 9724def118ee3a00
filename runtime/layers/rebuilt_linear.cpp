// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/rebuilt_linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/saved_pointer.h"
#include "layers/weight_gradient.h"
#include "omnibal/runtime/layers/own_graph.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A function where an autograd context holds values.
struct HeldBefore : torch::CustomClassHolder {
  explicit HeldBefore(Before held) : before(std::move(held)) {}

  Before before;
};

class RebuiltLinearFunction : public torch::autograd::Function<RebuiltLinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const Before& before,
                            WeightGradients* later) {
    context->save_for_backward({x, weight, bias.value_or(at::Tensor())});
    context->saved_data["before"] =
        at::IValue::make_capsule(c10::make_intrusive<HeldBefore>(before));
    context->saved_data["later"] = to_saved(later);
    return at::linear(before.make(x), weight, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weight = saved[1];
    const at::Tensor& dy = gradients[0];
    const auto held = context->saved_data["before"].toCapsule();
    GraphStart start;
    at::Tensor made;
    {
      const c10::AutoGradMode mode(true);
      made = static_cast<const HeldBefore&>(*held).before.make(
          start.begin(saved[0], context->needs_input_grad(0)));
    }
    GraphEnd end(made);
    variable_list result(5);
    add_weight_gradients(*context, saved, made.detach(), dy, result);
    made.reset();
    end.backward(dy.mm(weight));
    result[0] = start.take_gradient();
    return result;
  }

 private:
  static void add_weight_gradients(AutogradContext& context, const variable_list& saved,
                                   const at::Tensor& input, const at::Tensor& dy,
                                   variable_list& result) {
    const bool weight_trains = context.needs_input_grad(1);
    const bool bias_trains = saved[2].defined() && context.needs_input_grad(2);
    if (auto* later = from_saved<WeightGradients>(context.saved_data["later"])) {
      later->add(input, dy, weight_trains ? saved[1] : at::Tensor(),
                 bias_trains ? saved[2] : at::Tensor());
      return;
    }
    if (weight_trains) result[1] = returned_gradient(saved[1], weight_gradient(input, dy));
    if (bias_trains) result[2] = bias_gradient(dy);
  }
};

at::Tensor rebuilt_linear(const at::Tensor& x, const Before& before, const Linear& layer,
                          WeightGradients* later) {
  const std::optional<at::Tensor> bias =
      layer.bias.defined() ? std::optional(layer.bias) : std::nullopt;
  return RebuiltLinearFunction::apply(x, layer.weight, bias, before, later);
}

}  // namespace

at::Tensor row_parallel(const at::Tensor& x, const Before& before, const Linear& layer,
                        const TensorGroup* group, WeightGradients* later) {
  // A node comes to be only where one of its tensors has a gradient.
  const bool has_node = x.requires_grad() || layer.weight.requires_grad();
  if (!before.runs_again || !has_node || !c10::GradMode::is_enabled()) {
    return row_parallel(before.make(x), layer, group, later);
  }
  if (group == nullptr) return rebuilt_linear(x, before, layer, later);
  const at::Tensor sum = scatter_sum(rebuilt_linear(x, before, {layer.weight, {}}, later), group);
  return layer.bias.defined() ? sum + layer.bias : sum;
}

}  // namespace omnibal::runtime
