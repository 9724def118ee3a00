// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cassert>

#include "layers/rows.h"
#include "layers/saved_pointer.h"
#include "layers/weight_gradient.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

constexpr std::size_t kMostLayers = 3;
constexpr std::size_t kArguments = 4 + 2 * kMostLayers;  // of forward
constexpr std::size_t kFirstWeight = 3;                  // its place among them

/// Weight and bias of each layer; functions take tensors one by one.
using Weights = std::array<OptionalTensor, 2 * kMostLayers>;

class LinearsFunction : public torch::autograd::Function<LinearsFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& part, std::int64_t rows,
                               const TensorGroup* group, const OptionalTensor& weight0,
                               const OptionalTensor& bias0, const OptionalTensor& weight1,
                               const OptionalTensor& bias1, const OptionalTensor& weight2,
                               const OptionalTensor& bias2, WeightGradients* later) {
    const Weights weights{weight0, bias0, weight1, bias1, weight2, bias2};
    const at::Tensor x = gathered_rows(part, rows, group);
    variable_list outputs;
    variable_list saved;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      saved.push_back(weights[i].value_or(at::Tensor()));
      if (i % 2 != 0 || !weights[i]) continue;
      outputs.push_back(at::linear(x, *weights[i], weights[i + 1]));
      // Beside the saved variables, so that the backward may let go of it before it is through.
      if (weights[i]->requires_grad()) context->saved_data["input"] = part;
    }
    context->save_for_backward(std::move(saved));
    context->saved_data["rows"] = rows;
    context->saved_data["group"] = to_saved(group);
    context->saved_data["later"] = to_saved(later);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& dy) {
    const variable_list saved = context->get_saved_variables();
    const auto* group = from_saved<const TensorGroup>(context->saved_data["group"]);
    variable_list result(kArguments);
    weight_gradients(*context, saved, take_input(*context, group), dy, result);
    if (context->needs_input_grad(0)) {
      at::Tensor dx = dy[0].mm(saved[0]);
      for (std::size_t i = 1; i < dy.size(); ++i) dx.addmm_(dy[i], saved[2 * i]);
      result[0] = scattered_sum(dx, group);
    }
    return result;
  }

 private:
  /// Undefined where no weight trains.
  static at::Tensor take_input(AutogradContext& context, const TensorGroup* group) {
    const auto input = context.saved_data.find("input");
    if (input == context.saved_data.end()) return {};
    const at::Tensor part = input->second.toTensor();
    context.saved_data.erase(input);
    return gathered_rows(part, context.saved_data["rows"].toInt(), group);
  }

  /// Into `result`, or into the queue.
  static void weight_gradients(AutogradContext& context, const variable_list& saved,
                               const at::Tensor& x, const variable_list& dy,
                               variable_list& result) {
    auto* later = from_saved<WeightGradients>(context.saved_data["later"]);
    std::size_t edge = 0;  // counts the tensors that were given
    const auto trains = [&](const at::Tensor& parameter) {
      return parameter.defined() && context.needs_input_grad(++edge);
    };
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const at::Tensor& weight = saved[2 * i];
      const at::Tensor& bias = saved[2 * i + 1];
      const bool weight_trains = trains(weight);
      const bool bias_trains = trains(bias);
      if (later != nullptr) {
        later->add(x, dy[i], weight_trains ? weight : at::Tensor(),
                   bias_trains ? bias : at::Tensor());
        continue;
      }
      const std::size_t place = kFirstWeight + 2 * i;
      if (weight_trains) result[place] = returned_gradient(weight, weight_gradient(x, dy[i]));
      if (bias_trains) result[place + 1] = bias_gradient(dy[i]);
    }
  }
};

OptionalTensor if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : std::nullopt;
}

}  // namespace

std::vector<at::Tensor> column_parallel(const at::Tensor& part, std::int64_t rows,
                                        std::initializer_list<Linear> layers,
                                        const TensorGroup* group, WeightGradients* later) {
  assert(layers.size() >= 1 && layers.size() <= kMostLayers);
  Weights w;
  std::size_t place = 0;
  for (const Linear& layer : layers) {
    w[place++] = if_defined(layer.weight);
    w[place++] = if_defined(layer.bias);
  }
  return LinearsFunction::apply(part, rows, group, w[0], w[1], w[2], w[3], w[4], w[5], later);
}

at::Tensor linear(const at::Tensor& x, const Linear& layer, WeightGradients* later) {
  return column_parallel(x, x.size(0), {layer}, nullptr, later)[0];
}

at::Tensor row_parallel(const at::Tensor& x, const Linear& layer, const TensorGroup* group,
                        WeightGradients* later) {
  if (group == nullptr) return linear(x, layer, later);
  const at::Tensor sum = scatter_sum(linear(x, {layer.weight, {}}, later), group);
  return layer.bias.defined() ? sum + layer.bias : sum;
}

}  // namespace omnibal::runtime
