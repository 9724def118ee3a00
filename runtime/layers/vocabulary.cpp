// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/vocabulary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/accumulation_type.h"

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Words of a rank's own range of the vocabulary, as places in it; others as place 0.
struct OwnWords {
  at::Tensor places;  // [N]
  at::Tensor own;     // [N], bool
};

OwnWords own_words(const at::Tensor& ids, std::int64_t first, std::int64_t count) {
  const at::Tensor places = ids - first;
  const at::Tensor own = places.ge(0).logical_and_(places.lt(count));
  return {places.mul(own), own};
}

/// As Megatron-LM's vocabulary-parallel loss (arXiv 1909.08053): the logits never meet on one rank.
/// Of [N, words] there is one tensor at a time: logits, their exponentials, their gradient.
class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& labels, const at::Tensor& weights,
                            std::int64_t first_column, const TensorGroup* group) {
    const at::ScalarType type = accumulation_type(logits);
    const at::Tensor largest = logits.amax(1, /*keepdim=*/true).to(type);
    if (group != nullptr) group->all_reduce_max(largest);
    const at::Tensor shifted = logits.detach().to(type).sub_(largest);
    const auto [places, own] = own_words(labels, first_column, logits.size(1));
    const at::Tensor target = shifted.gather(1, places.unsqueeze(1)).squeeze(1).mul_(own);
    const at::Tensor exponentials = shifted.exp_();
    const at::Tensor sums = exponentials.sum(1);
    if (group != nullptr) {
      group->all_reduce_sum(target);
      group->all_reduce_sum(sums);
    }
    const at::Tensor wide_weights = weights.to(type);
    context->save_for_backward({exponentials, sums, places, own, wide_weights});
    context->saved_data["type"] = static_cast<std::int64_t>(logits.scalar_type());
    return sums.log().sub_(target).mul_(wide_weights).sum();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto& [exponentials, sums, places, own, weights] =
        std::tie(saved[0], saved[1], saved[2], saved[3], saved[4]);
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    const at::Tensor factors = weights * gradients[0];
    const at::Tensor gradient = exponentials.mul_((factors / sums).unsqueeze(1));
    gradient.scatter_add_(1, places.unsqueeze(1), (factors.neg() * own).unsqueeze(1));
    variable_list result(5);
    result[0] = gradient.to(type);
    return result;
  }
};

}  // namespace

at::Tensor embed(const at::Tensor& ids, const at::Tensor& table, std::int64_t first_row) {
  const auto [places, own] = own_words(ids, first_row, table.size(0));
  // Into a gradient that is there the rows of the batch's words are added, not a whole table.
  const bool adds_rows = table.grad().defined();
  return at::embedding(table, places, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, adds_rows) *
         own.unsqueeze(1);
}

at::Tensor weighted_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                  const at::Tensor& weights, std::int64_t first_column,
                                  const TensorGroup* group) {
  return CrossEntropyFunction::apply(logits, labels, weights, first_column, group);
}

}  // namespace omnibal::runtime
