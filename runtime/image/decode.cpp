// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/decode.h"

#include <fmt/format.h>

#include "image/decoders.h"
#include "image/image_error.h"
#include "image/orientation.h"
#include "omnibal/codec/files.h"
#include "omnibal/runtime/image/image_header.h"

namespace omnibal::runtime {
namespace {

/// Before anything is allocated for the pixels that the header claims.
Status check_size(const ImageHeader& header, std::size_t file_bytes, const std::string& origin,
                  const DecodeOptions& options) {
  // Of deflate (zlib's technical notes) and of a pixel's least size, one bit.
  constexpr std::int64_t kMaxDeflateRatio = 1032, kPixelsPerByte = 8;
  // The product of two sides of up to 2^31 - 1 fits.
  const std::int64_t num_pixels = header.width * header.height;
  if (num_pixels <= options.max_pixels) {
    const bool too_short =
        header.format == ImageFormat::kPng &&
        num_pixels / kPixelsPerByte / kMaxDeflateRatio > static_cast<std::int64_t>(file_bytes);
    if (!too_short) return {};
    return malformed_image(origin, "the PNG file is too short for the size that it claims");
  }
  return Error(ErrorCode::kImageTooLarge,
               fmt::format("the picture of {} x {} pixels is too large to decode", header.width,
                           header.height))
      .in_file(origin)
      .with_value(num_pixels)
      .with_limit(options.max_pixels)
      .with_hint("shrink the picture, or raise the limit of pixels");
}

Status decode_stored(ImageFormat format, Bytes bytes, const std::string& origin, Image& image) {
  switch (format) {
    case ImageFormat::kJpeg:
      return decode_jpeg(bytes, origin, image);
    case ImageFormat::kPng:
      return decode_png(bytes, origin, image);
    case ImageFormat::kGif:
      return decode_gif(bytes, origin, image);
    case ImageFormat::kWebp:
      break;
  }
  return decode_webp(bytes, origin, image);
}

}  // namespace

Result<Image> decode_image(std::span<const std::byte> bytes, const std::string& origin,
                           const DecodeOptions& options) {
  OMNIBAL_ASSIGN(const ImageHeader header, read_image_header(bytes, origin));
  OMNIBAL_RETURN_IF_ERROR(check_size(header, bytes.size(), origin, options));
  Image image(static_cast<int>(header.width), static_cast<int>(header.height));
  OMNIBAL_RETURN_IF_ERROR(decode_stored(header.format, bytes, origin, image));
  return apply_orientation(std::move(image), header.orientation);
}

Result<Image> load_image(const std::string& path, const DecodeOptions& options) {
  OMNIBAL_ASSIGN(const codec::MappedFile file, codec::MappedFile::open(path));
  return decode_image(file.bytes(), path, options);
}

}  // namespace omnibal::runtime
