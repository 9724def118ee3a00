// SPDX-License-Identifier: Apache-2.0
//
// Small image files made in memory.
//
//   const std::string file = png_file({.width = 2, .height = 1, .color_type = 2}, pixels);
//
// Not for parity: Python compares with Pillow on files that Pillow wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace omnibal::runtime {

struct PngSpec {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  int bit_depth = 8;
  int color_type = 2;            // 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
  std::string palette = {};      // content of PLTE
  std::string transparent = {};  // content of tRNS
  std::string exif = {};         // content of eXIf
};

/// `samples` are the rows as PNG stores them, without filter bytes.
std::string png_file(const PngSpec& spec, std::string_view samples);

/// A PNG file of header alone.
std::string png_header(std::uint32_t width, std::uint32_t height);

/// A grey JPEG of this size, a ramp from left to right, with EXIF of this orientation unless 0.
std::string jpeg_file(int width, int height, int orientation = 0);

/// EXIF in big-endian order with one tag.
std::string exif_of(int orientation);

/// A text that holds zero bytes.
template <std::size_t kSize>
std::string raw(const char (&text)[kSize]) {
  return std::string(text, kSize - 1);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace omnibal::runtime
