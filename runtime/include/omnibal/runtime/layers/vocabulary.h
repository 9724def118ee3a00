// SPDX-License-Identifier: Apache-2.0
//
// What works on the vocabulary, of which each tensor-parallel rank holds a range of rows: token
// embedding and cross entropy.
//
//   const at::Tensor partial_TD = embed(ids_T, table_VD, first_row);      // 0 for others' words
//   const at::Tensor loss = weighted_cross_entropy(logits_NV, labels_N, weights_N, 0, nullptr);
//
// Not for ignored labels: the caller picks the supervised rows first.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "omnibal/runtime/layers/tensor_group.h"

namespace omnibal::runtime {

/// Rows `first_row`.. of the table are this rank's.
at::Tensor embed(const at::Tensor& ids, const at::Tensor& table, std::int64_t first_row);

/// Sum over rows of weight x cross entropy, a scalar in fp32 (fp64 of fp64 logits); 0 of no rows.
/// Columns `first_column`.. of the logits are this rank's. Overwrites logits of the scalar's type;
/// keeps one tensor of their size in that type.
at::Tensor weighted_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                  const at::Tensor& weights, std::int64_t first_column,
                                  const TensorGroup* group);

}  // namespace omnibal::runtime
