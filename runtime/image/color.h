// SPDX-License-Identifier: Apache-2.0
//
// Other pixels into RGB, with Pillow's arithmetic. Private to images.
//
//   blend_on_white(rgba, to);
//
// Not colour management: profiles in files are ignored, as Pillow's convert("RGB") ignores them.
#pragma once

#include <array>
#include <cstdint>

namespace omnibal::runtime {

struct Rgba {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  std::uint8_t alpha = 255;
};

/// 256 colours; files may give fewer: Pillow's others are greys.
using Palette = std::array<Rgba, 256>;
Palette grey_palette();

/// alpha_composite over opaque white: 7 fractional bits, division by 255 by shifts.
void blend_on_white(Rgba pixel, std::uint8_t* to);

/// `cmyk` as an ink amount each (0 none, 255 full).
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* to);

}  // namespace omnibal::runtime
