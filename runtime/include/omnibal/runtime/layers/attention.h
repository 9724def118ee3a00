// SPDX-License-Identifier: Apache-2.0
//
// Attention without a mask of tokens by tokens: of packed samples a call a segment, of vision units
// one batched call. Cost and memory go with the segments.
//
//   const at::Tensor out_THd = packed_attention(q_THd, k_TKd, v_TKd, {100, 28});   // T = 128
//   const at::Tensor out_UShd = unit_attention(q_UShd, k, v);
//
// Not for windows, dropout or other masks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace omnibal::runtime {

/// Causal inside of each segment. q: [tokens, heads, width]; k and v may have fewer heads, each
/// serving as many query heads in a row. `segments`: lengths that add up to the tokens.
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<std::int64_t>& segments);

/// Every token attends its whole unit. [units, tokens, heads, width].
at::Tensor unit_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

}  // namespace omnibal::runtime
