// SPDX-License-Identifier: Apache-2.0
//
// Shapes: U units of n x n patches of p x p pixels, width H.
#include "omnibal/runtime/layers/patches.h"

#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/weight_gradient.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// [U n n, 3 p p]: what the embedding reads of each patch.
at::Tensor rows_of_patches(const at::Tensor& pixels_U3SS, std::int64_t patch) {
  const std::int64_t units = pixels_U3SS.size(0);
  const std::int64_t colors = pixels_U3SS.size(1);
  const std::int64_t side = pixels_U3SS.size(2) / patch;
  return pixels_U3SS.narrow(2, 0, side * patch)
      .narrow(3, 0, side * patch)
      .unflatten(3, {side, patch})
      .unflatten(2, {side, patch})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({units * side * side, colors * patch * patch});
}

class PatchesFunction : public torch::autograd::Function<PatchesFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& pixels,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
    context->save_for_backward({pixels});
    context->saved_data["shape"] = weight.sizes();
    context->saved_data["biased"] = bias.has_value();
    const std::int64_t patch = weight.size(2);
    const std::int64_t side = pixels.size(2) / patch;
    return at::linear(rows_of_patches(pixels, patch), weight.flatten(1), bias)
        .view({pixels.size(0), side * side, weight.size(0)});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const std::vector<std::int64_t> shape = context->saved_data["shape"].toIntVector();
    const at::Tensor dy = gradients[0].flatten(0, 1);
    variable_list result(3);
    if (context->needs_input_grad(1)) {
      const at::Tensor rows = rows_of_patches(context->get_saved_variables()[0], shape[2]);
      result[1] = weight_gradient(rows, dy).view(shape);
    }
    const bool biased = context->saved_data["biased"].toBool();
    if (biased && context->needs_input_grad(2)) result[2] = bias_gradient(dy);
    return result;
  }
};

}  // namespace

at::Tensor embed_patches(const at::Tensor& pixels, const Linear& patches) {
  const std::optional<at::Tensor> bias =
      patches.bias.defined() ? std::optional(patches.bias) : std::nullopt;
  return PatchesFunction::apply(pixels, patches.weight, bias);
}

}  // namespace omnibal::runtime
