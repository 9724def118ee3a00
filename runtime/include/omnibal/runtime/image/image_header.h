// SPDX-License-Identifier: Apache-2.0
//
// What an image file says of itself, read from its first bytes and chunk headers alone: format (by
// content, whatever the name), size, orientation. Enough to count tiles, and to refuse what is too
// large before anything is allocated.
//
//   OMNIBAL_ASSIGN(const ImageHeader header, read_image_header(bytes, "a.jpg"));
//   header.upright_width();   // what a viewer shows, EXIF rotation applied
//   choose_tile_grid(header.upright_width(), header.upright_height(), tiling);
//
// Not a promise that the file can be decoded: pixels are not looked at (decode.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "omnibal/base/result.h"

namespace omnibal::runtime {

enum class ImageFormat { kJpeg, kPng, kGif, kWebp };

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  std::int64_t width = 0;  // as stored; neither is below 1
  std::int64_t height = 0;
  int orientation = 1;  // EXIF: 1 upright, 5..8 swap width and height

  std::int64_t upright_width() const { return orientation >= 5 ? height : width; }
  std::int64_t upright_height() const { return orientation >= 5 ? width : height; }
};

/// `origin` is named in errors: kEmptyInput (no bytes), kUnknownFormat (no image, or of a format
/// that is not read, by name), kMalformedImage (ends within its header, a side of 0).
Result<ImageHeader> read_image_header(std::span<const std::byte> bytes, const std::string& origin);

}  // namespace omnibal::runtime
