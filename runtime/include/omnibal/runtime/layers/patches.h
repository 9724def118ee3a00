// SPDX-License-Identifier: Apache-2.0
//
// The embedding of a picture's patches: a convolution whose windows do not overlap, as the matrix
// product that it is.
//
//   const at::Tensor x_UPH = embed_patches(pixels_U3SS, {weight_H3pp, bias_H});
//
// Not for pixels with a gradient: nothing in front of them trains.
#pragma once

#include <ATen/core/Tensor.h>

#include "omnibal/runtime/layers/linear.h"

namespace omnibal::runtime {

/// [units, patches, width]; what is left of a side that the patch does not divide is not read.
/// Keeps the pixels alone, which the micro-batch has anyway; backward takes one copy of them more.
at::Tensor embed_patches(const at::Tensor& pixels, const Linear& patches);

}  // namespace omnibal::runtime
