// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/tensor_group.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/rows.h"
#include "layers/saved_pointer.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class GatherRowsFunction : public torch::autograd::Function<GatherRowsFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& part, std::int64_t rows,
                            const TensorGroup* group) {
    context->saved_data["group"] = to_saved(group);
    return gathered_rows(part, rows, group);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto* group = from_saved<const TensorGroup>(context->saved_data["group"]);
    return {scattered_sum(gradients[0], group), {}, {}};
  }
};

class ScatterSumFunction : public torch::autograd::Function<ScatterSumFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& partial,
                            const TensorGroup* group) {
    context->saved_data["group"] = to_saved(group);
    context->saved_data["rows"] = partial.size(0);
    return scattered_sum(partial, group);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto* group = from_saved<const TensorGroup>(context->saved_data["group"]);
    return {gathered_rows(gradients[0], context->saved_data["rows"].toInt(), group), {}};
  }
};

}  // namespace

std::int64_t size_of(const TensorGroup* group) { return group == nullptr ? 1 : group->size(); }

std::int64_t rank_of(const TensorGroup* group) { return group == nullptr ? 0 : group->rank(); }

std::int64_t rows_per_rank(std::int64_t rows, const TensorGroup* group) {
  return (rows + size_of(group) - 1) / size_of(group);
}

at::Tensor padded_rows(const at::Tensor& rows, const TensorGroup& group) {
  const std::int64_t missing = rows_per_rank(rows.size(0), &group) * group.size() - rows.size(0);
  if (missing == 0) return rows.contiguous();
  std::vector<std::int64_t> shape = rows.sizes().vec();
  shape[0] = missing;
  return at::cat({rows, rows.new_zeros(shape)});
}

at::Tensor gathered_rows(const at::Tensor& part, std::int64_t rows, const TensorGroup* group) {
  return group == nullptr ? part : group->all_gather(part.contiguous()).narrow(0, 0, rows);
}

at::Tensor scattered_sum(const at::Tensor& partial, const TensorGroup* group) {
  return group == nullptr ? partial : group->reduce_scatter(padded_rows(partial, *group));
}

at::Tensor gather_rows(const at::Tensor& part, std::int64_t rows, const TensorGroup* group) {
  return group == nullptr ? part : GatherRowsFunction::apply(part, rows, group);
}

at::Tensor scatter_sum(const at::Tensor& partial, const TensorGroup* group) {
  return group == nullptr ? partial : ScatterSumFunction::apply(partial, group);
}

at::Tensor own_rows(const at::Tensor& whole, const TensorGroup* group) {
  if (group == nullptr) return whole;
  const std::int64_t rows = rows_per_rank(whole.size(0), group);
  // A copy: a view would keep the rows of all ranks.
  return padded_rows(whole, *group).narrow(0, group->rank() * rows, rows).clone();
}

}  // namespace omnibal::runtime
