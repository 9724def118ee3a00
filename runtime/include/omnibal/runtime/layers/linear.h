// SPDX-License-Identifier: Apache-2.0
//
// Linear layers, whole or split over tensor-parallel ranks: y = x W^T + b.
//
//   const at::Tensor y = linear(x_NI, layer, nullptr);              // W [O, I], b [O]
//   const at::Tensor part = linear(x, layer, &later);               // weight gradient deferred
//   const at::Tensor own = row_parallel(x_NI, layer, group, nullptr);  // I split over the ranks
//
// Not for tensors of other than two dimensions.
#pragma once

#include <ATen/core/Tensor.h>

#include "omnibal/runtime/layers/tensor_group.h"
#include "omnibal/runtime/layers/weight_gradients.h"

namespace omnibal::runtime {

struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined
};

/// Keeps x, and only if the weight trains. With `later` the weight's and the bias' gradients are
/// queued there, bit-equal to those computed at once.
at::Tensor linear(const at::Tensor& x, const Linear& layer, WeightGradients* later);

/// `layer` holds this rank's columns of the weight and the whole bias; `x` this rank's inputs.
/// Returns this rank's rows of the sum over ranks.
at::Tensor row_parallel(const at::Tensor& x, const Linear& layer, const TensorGroup* group,
                        WeightGradients* later);

}  // namespace omnibal::runtime
