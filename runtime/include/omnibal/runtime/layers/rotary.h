// SPDX-License-Identifier: Apache-2.0
//
// Rotary positions (arXiv 2104.09864) in the order of transformers: the first half of a head turns
// with the second.
//
//   const RotaryTable table = rotary_table(positions_T, 64, 10000, at::kFloat);
//   const at::Tensor q = rotate(q_THd, table);
//
// Not for scaled or partial rotation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace omnibal::runtime {

/// Cosines and sines, [tokens, 1, head width]; computed once for all layers of a micro-batch.
struct RotaryTable {
  at::Tensor cosine, sine;
};

/// Angles in fp32, in fp64 for fp64; then rounded to `type`.
RotaryTable rotary_table(const at::Tensor& positions, std::int64_t head_width, double base,
                         at::ScalarType type);

/// x: [tokens, heads, head width]. Keeps nothing but the table.
at::Tensor rotate(const at::Tensor& x, const RotaryTable& table);

}  // namespace omnibal::runtime
