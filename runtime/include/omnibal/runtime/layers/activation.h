// SPDX-License-Identifier: Apache-2.0
//
// Activations of MLPs that keep no more than their inputs for the backward.
//
//   const at::Tensor h = gelu(x);
//   const at::Tensor h = quick_gelu(x);        // x sigmoid(1.702 x), of CLIP
//   const at::Tensor h = swiglu(gate, up);     // silu(gate) up, of Qwen and Llama
//
// Not the linear layers around them.
#pragma once

#include <ATen/core/Tensor.h>

namespace omnibal::runtime {

/// By the error function, not its tanh approximation.
at::Tensor gelu(const at::Tensor& x);
at::Tensor quick_gelu(const at::Tensor& x);
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace omnibal::runtime
