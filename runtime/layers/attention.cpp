// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/csrc/autograd/custom_function.h>

namespace omnibal::runtime {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Segments = std::vector<std::int64_t>;

constexpr bool kCausal = true;
constexpr double kDropout = 0;

/// Rows of [tokens, heads, width] as the kernels want them: [1, heads, rows, width].
at::Tensor rows_of(const at::Tensor& x_THd, std::int64_t begin, std::int64_t rows) {
  return x_THd.narrow(0, begin, rows).transpose(0, 1).unsqueeze(0);
}

/// One node for all segments: its output is written once, where operations a segment would keep
/// theirs beside the concatenation. The kernels take fewer key-value heads as they are.
class PackedAttentionFunction : public torch::autograd::Function<PackedAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const Segments& segments) {
    const at::Tensor out = at::empty_like(q, at::MemoryFormat::Contiguous);
    variable_list kept{q, k, v, out};
    std::int64_t begin = 0;
    for (const std::int64_t rows : segments) {
      const auto [part, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
          rows_of(q, begin, rows), rows_of(k, begin, rows), rows_of(v, begin, rows), kDropout,
          kCausal);
      rows_of(out, begin, rows).copy_(part);
      kept.push_back(log_sum);
      begin += rows;
    }
    context->save_for_backward(std::move(kept));
    context->saved_data["segments"] = segments;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list kept = context->get_saved_variables();
    const Segments segments = context->saved_data["segments"].toIntVector();
    // A segment's q, k, v are not needed behind it: their gradients take their places.
    variable_list result{kept[0].detach(), kept[1].detach(), kept[2].detach(), {}};
    std::int64_t begin = 0;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const std::int64_t rows = segments[s];
      const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          rows_of(gradients[0], begin, rows), rows_of(kept[0], begin, rows),
          rows_of(kept[1], begin, rows), rows_of(kept[2], begin, rows),
          rows_of(kept[3], begin, rows), kept[4 + s], kDropout, kCausal);
      rows_of(result[0], begin, rows).copy_(dq);
      rows_of(result[1], begin, rows).copy_(dk);
      rows_of(result[2], begin, rows).copy_(dv);
      begin += rows;
    }
    return result;
  }
};

/// Of a rank without heads, or of no unit: what lies before runs its backward all the same, since
/// other ranks wait for its part in sums. Keys and values may have fewer heads.
at::Tensor nothing(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return q + k.sum() + v.sum();
}

}  // namespace

at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<std::int64_t>& segments) {
  if (q.numel() == 0) return nothing(q, k, v);
  return PackedAttentionFunction::apply(q, k, v, segments);
}

at::Tensor unit_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  if (q.numel() == 0) return nothing(q, k, v);
  return at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
      .transpose(1, 2);
}

}  // namespace omnibal::runtime
