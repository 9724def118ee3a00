// SPDX-License-Identifier: Apache-2.0
#include "image/color.h"

#include <algorithm>

namespace omnibal::runtime {
namespace {

/// x / 255 for x below 65,536 x 255, when 128 was added before: rounded.
constexpr std::uint32_t shift_for_div_255(std::uint32_t x) { return ((x >> 8U) + x) >> 8U; }

}  // namespace

Palette grey_palette() {
  Palette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) {
    const auto grey = static_cast<std::uint8_t>(i);
    palette[i] = {grey, grey, grey, 255};
  }
  return palette;
}

void blend_on_white(Rgba pixel, std::uint8_t* to) {
  constexpr std::uint32_t kBits = 7;
  const std::uint32_t weight = std::uint32_t{pixel.alpha} << kBits;
  const std::uint32_t white = 255U * ((255U << kBits) - weight);
  const auto blend = [&](std::uint8_t channel) {
    const std::uint32_t sum = channel * weight + white + (0x80U << kBits);
    return static_cast<std::uint8_t>(shift_for_div_255(sum) >> kBits);
  };
  to[0] = blend(pixel.red);
  to[1] = blend(pixel.green);
  to[2] = blend(pixel.blue);
}

void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* to) {
  const int paper = 255 - cmyk[3];
  for (int channel = 0; channel < 3; ++channel) {
    const std::uint32_t product = cmyk[channel] * static_cast<std::uint32_t>(paper) + 128U;
    const int ink = static_cast<int>(shift_for_div_255(product));
    to[channel] = static_cast<std::uint8_t>(std::clamp(paper - ink, 0, 255));
  }
}

}  // namespace omnibal::runtime
