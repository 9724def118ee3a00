// SPDX-License-Identifier: Apache-2.0
//
// Image: eight-bit RGB pixels, row by row, as every later step wants them.
//
//   Image image(640, 480);
//   image.row(479)[3 * 639] = 255;   // red of the last pixel
//   image.pixels.size();             // 3 * 640 * 480
//
// Not a view and not a tensor: preprocess.h makes the floats that a vision tower is fed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnibal::runtime {

constexpr int kChannels = 3;

struct Image {
  Image() = default;
  Image(int columns, int rows)
      : width(columns),
        height(rows),
        pixels(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows) * kChannels) {}

  std::uint8_t* row(int y) { return pixels.data() + row_offset(y); }
  const std::uint8_t* row(int y) const { return pixels.data() + row_offset(y); }

  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]

 private:
  std::size_t row_offset(int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * kChannels;
  }
};

}  // namespace omnibal::runtime
