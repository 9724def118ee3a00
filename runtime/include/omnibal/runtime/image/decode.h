// SPDX-License-Identifier: Apache-2.0
//
// JPEG, PNG, GIF (first frame) and WebP (first frame) into RGB, with the pixels that Pillow's
// convert("RGB") and the image processors of transformers give: EXIF rotation applied, alpha
// blended on white, CMYK and 16-bit samples reduced Pillow's way (docs/methods/runtime-images.md).
//
//   OMNIBAL_ASSIGN(const Image image, load_image("photos/a.jpg", {}));
//   OMNIBAL_ASSIGN(const Image other, decode_image(bytes, "row 7", {.max_pixels = 1 << 24}));
//   image.width;
//
// Not for partial pictures: a file that ends too early is an error, never grey rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "omnibal/base/result.h"
#include "omnibal/runtime/image/image.h"

namespace omnibal::runtime {

struct DecodeOptions {
  /// Width times height; checked against the header before any allocation. The default is the
  /// number from which Pillow refuses.
  std::int64_t max_pixels = 178'956'970;
};

/// Errors: those of read_image_header; kImageTooLarge; kMalformedImage (truncated or broken data).
Result<Image> decode_image(std::span<const std::byte> bytes, const std::string& origin,
                           const DecodeOptions& options);

/// decode_image of a regular file. Also kFileNotFound, kFileUnreadable.
Result<Image> load_image(const std::string& path, const DecodeOptions& options);

}  // namespace omnibal::runtime
