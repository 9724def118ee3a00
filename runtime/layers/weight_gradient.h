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

}  // namespace omnibal::runtime
