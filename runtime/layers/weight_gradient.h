// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a linear layer's weight and bias, computed in one way whenever they are due.
//
//   const at::Tensor dW_OI = weight_gradient(x_NI, dy_NO);
//   const at::Tensor db_O = bias_gradient(dy_NO);
//
// Not where they are added to: weight_gradients.h.
#pragma once

#include <ATen/core/Tensor.h>

namespace omnibal::runtime {

at::Tensor weight_gradient(const at::Tensor& input, const at::Tensor& output_gradient);
at::Tensor bias_gradient(const at::Tensor& output_gradient);

/// Adds to `own`, which may be fp32 where `gradient` is bf16: to the bit as converting it first, in
/// one pass over the memory.
void add_to_gradient(const at::Tensor& own, const at::Tensor& gradient);

/// What a backward returns for a parameter. Where the parameter has a wider gradient already,
/// that is added to at once, and nothing is left to return; the engine runs the hook all the same.
at::Tensor returned_gradient(const at::Tensor& parameter, at::Tensor gradient);

}  // namespace omnibal::runtime
