// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/accumulation_type.h"
#include "layers/saved_pointer.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor sum_over_width(const at::Tensor& values, const TensorGroup* group) {
  const at::Tensor sum = values.sum(-1, /*keepdim=*/true);
  if (group != nullptr) group->all_reduce_sum(sum);
  return sum;
}

/// y = w x r, r = 1 / sqrt(mean(x^2) + eps).
/// dx = r (g - x r mean(g x r)) with g = w dy; dw = sum over rows of dy x r.
class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            double eps, double width, const TensorGroup* group) {
    const at::Tensor wide = x.to(accumulation_type(x));
    const at::Tensor scale = sum_over_width(wide.square(), group).div_(width).add_(eps).rsqrt_();
    context->save_for_backward({x, weight, scale});
    context->saved_data["width"] = width;
    context->saved_data["group"] = to_saved(group);
    return (wide * scale).to(x.scalar_type()) * weight;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto& [x, weight, scale] = std::tie(saved[0], saved[1], saved[2]);
    const auto* group = from_saved<const TensorGroup>(context->saved_data["group"]);
    const at::ScalarType type = accumulation_type(x);
    at::Tensor unit = x.to(type) * scale;
    at::Tensor g = gradients[0].to(type);
    variable_list result(5);
    if (context->needs_input_grad(1)) {
      result[1] = (g * unit).flatten(0, -2).sum(0).to(weight.scalar_type());
    }
    if (context->needs_input_grad(0)) {
      g = g * weight;
      const double width = context->saved_data["width"].toDouble();
      const at::Tensor mean = sum_over_width(g * unit, group).div_(width);
      result[0] = g.sub_(unit.mul_(mean)).mul_(scale).to(x.scalar_type());
    }
    return result;
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return split_rms_norm(x, weight, eps, x.size(-1), nullptr);
}

at::Tensor split_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                          std::int64_t width, const TensorGroup* group) {
  return RmsNormFunction::apply(x, weight, eps, static_cast<double>(width), group);
}

at::Tensor normalize(const at::Tensor& x, const Norm& norm) {
  if (!norm.bias.defined()) return rms_norm(x, norm.weight, norm.eps);
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, norm.eps);
}

}  // namespace omnibal::runtime
