// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/vocabulary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "layers/accumulation_type.h"
#include "layers/saved_pointer.h"
#include "layers/weight_gradient.h"

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

/// Rows of logits that are there in another type at once.
constexpr std::int64_t kRowsInBetween = 64;

/// `wide`, fp32, in a type of half its size, in its own memory: row i goes where row i / 2 was,
/// which has been read.
at::Tensor narrowed_in_place(const at::Tensor& wide, at::ScalarType type) {
  if (wide.scalar_type() == type || wide.numel() == 0) return wide.to(type);
  const at::Tensor narrow = wide.flatten().view(type).narrow(0, 0, wide.numel()).view(wide.sizes());
  for (std::int64_t begin = 0; begin < wide.size(0); begin += kRowsInBetween) {
    const std::int64_t rows = std::min(kRowsInBetween, wide.size(0) - begin);
    narrow.narrow(0, begin, rows).copy_(wide.narrow(0, begin, rows).to(type));
  }
  return narrow;
}

class WideLogitsFunction : public torch::autograd::Function<WideLogitsFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            WeightGradients* later) {
    context->save_for_backward({weight.requires_grad() ? x : at::Tensor(), weight});
    context->saved_data["later"] = to_saved(later);
    const at::ScalarType type = accumulation_type(x);
    if (type == x.scalar_type()) return at::linear(x, weight);
    const at::Tensor logits = at::empty({x.size(0), weight.size(0)}, x.options().dtype(type));
    for (std::int64_t begin = 0; begin < x.size(0); begin += kRowsInBetween) {
      const std::int64_t rows = std::min(kRowsInBetween, x.size(0) - begin);
      logits.narrow(0, begin, rows).copy_(at::linear(x.narrow(0, begin, rows), weight));
    }
    return logits;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto& [x, weight] = std::tie(saved[0], saved[1]);
    const at::Tensor dy = narrowed_in_place(gradients[0], weight.scalar_type());
    variable_list result(3);
    if (context->needs_input_grad(0)) result[0] = dy.mm(weight);
    if (!context->needs_input_grad(1)) return result;
    if (auto* later = from_saved<WeightGradients>(context->saved_data["later"])) {
      later->add(x, dy, weight, {});
    } else {
      result[1] = returned_gradient(weight, weight_gradient(x, dy));
    }
    return result;
  }
};

/// Rows of logits worked on together: what they take stays in the cache from one operation to the
/// next.
constexpr std::int64_t kBlockElements = 1 << 18;

/// Calls `body(begin, count)` for blocks of rows of [rows, columns].
template <class Body>
void for_row_blocks(const at::Tensor& matrix, const Body& body) {
  const std::int64_t rows = matrix.size(0);
  const std::int64_t most =
      std::max<std::int64_t>(1, kBlockElements / std::max<std::int64_t>(1, matrix.size(1)));
  for (std::int64_t begin = 0; begin < rows; begin += most) {
    body(begin, std::min(most, rows - begin));
  }
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
    const auto [places, own] = own_words(labels, first_column, logits.size(1));
    const bool wide = logits.scalar_type() == type;
    const at::Tensor exponentials =
        wide ? logits.detach() : at::empty_like(logits, logits.options().dtype(type));
    const at::Tensor target = at::empty({logits.size(0)}, exponentials.options());
    const at::Tensor sums = at::empty_like(target);
    for_row_blocks(logits, [&, &places = places](std::int64_t begin, std::int64_t count) {
      const auto rows = [=](const at::Tensor& all) { return all.narrow(0, begin, count); };
      const at::Tensor block = rows(exponentials);
      if (!wide) block.copy_(rows(logits));
      block.sub_(rows(largest));
      rows(target).copy_(block.gather(1, rows(places).unsqueeze(1)).squeeze(1));
      rows(sums).copy_(block.exp_().sum(1));
    });
    target.mul_(own);
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
    const at::Tensor row_factors = (factors / sums).unsqueeze(1);
    const at::Tensor targets = (factors.neg() * own).unsqueeze(1);
    const bool wide = exponentials.scalar_type() == type;
    variable_list result(5);
    result[0] =
        wide ? exponentials : at::empty_like(exponentials, exponentials.options().dtype(type));
    for_row_blocks(exponentials, [&, &all_places = places](std::int64_t begin, std::int64_t count) {
      const auto rows = [=](const at::Tensor& all) { return all.narrow(0, begin, count); };
      const at::Tensor block = rows(exponentials).mul_(rows(row_factors));
      block.scatter_add_(1, rows(all_places).unsqueeze(1), rows(targets));
      if (!wide) rows(result[0]).copy_(block);
    });
    return result;
  }
};

/// An optimizer's, which is there from step to step: the rows of the batch's words are added to it,
/// not a whole table. Asked alike by each forward of a training, so that recomputation changes no
/// bit.
bool has_lasting_gradient(const at::Tensor& table) {
  return table.requires_grad() && table.grad().defined() &&
         torch::autograd::impl::post_acc_grad_hooks(table) != nullptr;
}

}  // namespace

at::Tensor embed(const at::Tensor& ids, const at::Tensor& table, std::int64_t first_row) {
  const auto [places, own] = own_words(ids, first_row, table.size(0));
  const bool adds_rows = has_lasting_gradient(table);
  return at::embedding(table, places, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, adds_rows) *
         own.unsqueeze(1);
}

at::Tensor wide_logits(const at::Tensor& x, const Linear& layer, WeightGradients* later) {
  return WideLogitsFunction::apply(x, layer.weight, later);
}

at::Tensor weighted_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                  const at::Tensor& weights, std::int64_t first_column,
                                  const TensorGroup* group) {
  return CrossEntropyFunction::apply(logits, labels, weights, first_column, group);
}

}  // namespace omnibal::runtime
