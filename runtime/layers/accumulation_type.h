// SPDX-License-Identifier: Apache-2.0
//
// The type in which norms, angles and losses are computed: fp32, or fp64 of fp64 tensors.
//
//   const at::Tensor wide = x.to(accumulation_type(x));   // fp32 of bf16
//   accumulation_type(at::kDouble);                       // kDouble
//
// Not the type of matrix products: those accumulate inside.
#pragma once

#include <ATen/core/Tensor.h>

namespace omnibal::runtime {

inline at::ScalarType accumulation_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}
inline at::ScalarType accumulation_type(const at::Tensor& tensor) {
  return accumulation_type(tensor.scalar_type());
}

}  // namespace omnibal::runtime
