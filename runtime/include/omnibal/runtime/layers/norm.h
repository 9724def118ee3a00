// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm and RMSNorm over the last dimension, as transformers computes them: RMSNorm in fp32
// (fp64 in fp64), rounded to the input's type before the weight is multiplied.
//
//   const at::Tensor y = rms_norm(x_ND, weight_D, 1e-6);       // keeps x and one number a row
//   const at::Tensor y = normalize(x, norm);                   // by the norm's kind
//   const at::Tensor q = split_rms_norm(q_NC, weight_C, 1e-6, width, group);  // C of width columns
//
// Not batch norms: rows do not see each other.
#pragma once

#include <ATen/core/Tensor.h>

#include "omnibal/runtime/layers/tensor_group.h"

namespace omnibal::runtime {

struct Norm {
  at::Tensor weight;  // [width]
  at::Tensor bias;    // [width]; undefined: RMSNorm
  double eps = 1e-6;
};

at::Tensor normalize(const at::Tensor& x, const Norm& norm);
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
/// The norm of a row whose `width` columns are split over the group's ranks.
at::Tensor split_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                          std::int64_t width, const TensorGroup* group);

}  // namespace omnibal::runtime
