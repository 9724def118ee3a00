// SPDX-License-Identifier: Apache-2.0
//
// Pillow's bicubic resize, bit for bit: two passes of a = -0.5 with antialiasing, coefficients of
// 22 fractional bits, eight-bit pixels between the passes.
//
//   const Image tile = resize_bicubic(image, 448, 448);
//   const Image old = resize_bicubic(image, 448, 448, PassOrder::kHorizontalFirst);
//   tile.width;   // 448
//
// Not at::upsample_bicubic2d: that differs from what models were trained on by up to 22 of 255.
#pragma once

#include "omnibal/runtime/image/image.h"

namespace omnibal::runtime {

enum class PassOrder {
  kPillow13,         // the pass that leaves less for the other first
  kHorizontalFirst,  // Pillow 12 and older
};

/// Width and height, given and asked for, are at least 1. O(source height x width x support).
Image resize_bicubic(const Image& image, int width, int height,
                     PassOrder order = PassOrder::kPillow13);

}  // namespace omnibal::runtime
