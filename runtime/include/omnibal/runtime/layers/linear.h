// SPDX-License-Identifier: Apache-2.0
//
// Linear layers, whole or split over tensor-parallel ranks: y = x W^T + b.
//
//   const at::Tensor y = linear(x_NI, layer, nullptr);        // W [O, I], b [O]
//   const std::vector<at::Tensor> qkv =                        // O split: each rank has all rows,
//       column_parallel(part_MI, N, {query, key, value}, group, &later);   // own columns
//   const at::Tensor part = row_parallel(y_NO, output, group, &later);     // I split: own rows
//
// Not for tensors of other than two dimensions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "omnibal/runtime/layers/tensor_group.h"
#include "omnibal/runtime/layers/weight_gradients.h"

namespace omnibal::runtime {

struct Linear {
  at::Tensor weight = {};  // [out, in]
  at::Tensor bias = {};    // [out], or undefined
};

/// Keeps x, and only if the weight trains. With `later` the weight's and the bias' gradients are
/// queued there, bit-equal to those computed at once.
at::Tensor linear(const at::Tensor& x, const Linear& layer, WeightGradients* later);

/// Up to three layers of one input, whose `rows` rows are spread over the ranks; each rank holds
/// rows of the weights. Keeps this rank's part of the input and gathers it again for the backward.
std::vector<at::Tensor> column_parallel(const at::Tensor& part, std::int64_t rows,
                                        std::initializer_list<Linear> layers,
                                        const TensorGroup* group, WeightGradients* later);

/// `layer` holds this rank's columns of the weight and the whole bias; `x` this rank's inputs.
/// Returns this rank's rows of the sum over ranks.
at::Tensor row_parallel(const at::Tensor& x, const Linear& layer, const TensorGroup* group,
                        WeightGradients* later);

}  // namespace omnibal::runtime
