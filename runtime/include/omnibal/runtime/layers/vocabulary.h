// SPDX-License-Identifier: Apache-2.0
//
// What works on the vocabulary, of which each tensor-parallel rank holds a range of rows: token
// embedding, logits and cross entropy.
//
//   const at::Tensor partial_TD = embed(ids_T, table_VD, first_row);      // 0 for others' words
//   const at::Tensor logits_NV = wide_logits(x_ND, {table_VD}, nullptr);
//   const at::Tensor loss = weighted_cross_entropy(logits_NV, labels_N, weights_N, 0, nullptr);
//
// Not for ignored labels: the caller picks the supervised rows first.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "omnibal/runtime/layers/linear.h"
#include "omnibal/runtime/layers/tensor_group.h"
#include "omnibal/runtime/layers/weight_gradients.h"

namespace omnibal::runtime {

/// Rows `first_row`.. of the table are this rank's.
at::Tensor embed(const at::Tensor& ids, const at::Tensor& table, std::int64_t first_row);

/// linear(x, layer) in the type of losses: fp32, or fp64 of fp64. Beside it no second tensor of its
/// size is there, forward or backward: the gradient that comes back is overwritten. `layer` has no
/// bias.
at::Tensor wide_logits(const at::Tensor& x, const Linear& layer, WeightGradients* later);

/// Sum over rows of weight x cross entropy, a scalar in fp32 (fp64 of fp64 logits); 0 of no rows.
/// Columns `first_column`.. of the logits are this rank's. Overwrites logits of the scalar's type;
/// keeps one tensor of their size in that type.
at::Tensor weighted_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                  const at::Tensor& weights, std::int64_t first_column,
                                  const TensorGroup* group);

}  // namespace omnibal::runtime
