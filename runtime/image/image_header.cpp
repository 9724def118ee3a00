// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/image_header.h"

#include <fmt/format.h>
#include <webp/decode.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "image/byte_reader.h"
#include "image/image_error.h"
#include "image/orientation.h"

namespace omnibal::runtime {
namespace {

struct Metadata {
  std::string exif;
  std::string_view xmp;

  int orientation() const { return orientation_of(std::as_bytes(std::span(exif)), xmp); }
};

/// What a JPEG says in one application segment.
void read_app1(std::string_view segment, Metadata& metadata) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  if (segment.starts_with(kExif)) {
    metadata.exif += metadata.exif.empty() ? segment : segment.substr(kExif.size());
  } else if (segment.starts_with(kXmp)) {
    metadata.xmp = segment.substr(kXmp.size());
  }
}

/// Segments up to the first scan: a marker (0xff, kind), a length that counts itself, content
/// (ITU-T T.81, annex B).
Result<ImageHeader> read_jpeg_header(Bytes bytes, const std::string& origin) {
  constexpr std::uint32_t kApp1 = 0xe1, kStartOfScan = 0xda, kEndOfImage = 0xd9;
  ImageHeader header{.format = ImageFormat::kJpeg};
  Metadata metadata;
  for (std::size_t at = 2; at + 1 < bytes.size();) {
    if (bytes[at] != std::byte{0xff}) {
      ++at;
      continue;
    }
    const auto kind = std::to_integer<std::uint32_t>(bytes[at + 1]);
    if (kind == kStartOfScan || kind == kEndOfImage) break;
    const bool bare = kind == 0 || kind == 1 || kind == 0xff || (kind >= 0xd0 && kind <= 0xd8);
    if (bare) {
      at += kind == 0xff ? 1 : 2;
      continue;
    }
    const std::uint32_t length = big_endian<2>(bytes, at + 2).value_or(0);
    if (length < 2) break;
    const Bytes content = part_of(bytes, at + 4, length - 2);
    if (kind == kApp1) read_app1(as_text(content), metadata);
    const bool frame = kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
    if (frame) {
      header.height = big_endian<2>(content, 1).value_or(0);
      header.width = big_endian<2>(content, 3).value_or(0);
    }
    at += 2 + length;
  }
  if (header.width == 0 || header.height == 0) {
    return malformed_image(origin, "the JPEG file ends before it says how large the picture is");
  }
  header.orientation = metadata.orientation();
  return header;
}

/// Chunks of length, type, content, checksum, the first of them IHDR. EXIF may stand behind the
/// pixels, which are stepped over.
Result<ImageHeader> read_png_header(Bytes bytes, const std::string& origin) {
  constexpr std::size_t kSignatureBytes = 8, kAroundContent = 12;
  constexpr std::uint32_t kMaxSide = 0x7fffffff;
  ImageHeader header{.format = ImageFormat::kPng};
  if (as_text(part_of(bytes, kSignatureBytes + 4, 4)) != "IHDR") {
    return malformed_image(origin, "the PNG file does not begin with its header");
  }
  header.width = big_endian<4>(bytes, kSignatureBytes + 8).value_or(0);
  header.height = big_endian<4>(bytes, kSignatureBytes + 12).value_or(0);
  if (header.width == 0 || header.height == 0 || std::max(header.width, header.height) > kMaxSide) {
    return malformed_image(origin, "the PNG file says no sensible size");
  }
  Metadata metadata;
  for (std::size_t at = kSignatureBytes; at < bytes.size();) {
    const std::optional<std::uint32_t> length = big_endian<4>(bytes, at);
    const std::string_view type = as_text(part_of(bytes, at + 4, 4));
    if (!length || type.size() < 4) break;
    const std::string_view content = as_text(part_of(bytes, at + 8, *length));
    if (type == "eXIf") metadata.exif = content;
    if (type == "iTXt" && content.starts_with("XML:com.adobe.xmp")) metadata.xmp = content;
    at += kAroundContent + *length;
  }
  header.orientation = metadata.orientation();
  return header;
}

/// The screen, widened to the first frame where that is larger, as Pillow does.
Result<ImageHeader> read_gif_header(Bytes bytes, const std::string& origin) {
  const auto color_table_bytes = [](std::uint32_t flags) -> std::size_t {
    return (flags & 0x80U) != 0 ? std::size_t{6} << (flags & 7U) : 0;
  };
  ImageHeader header{.format = ImageFormat::kGif};
  header.width = little_endian<2>(bytes, 6).value_or(0);
  header.height = little_endian<2>(bytes, 8).value_or(0);
  std::size_t at = 13 + color_table_bytes(little_endian<1>(bytes, 10).value_or(0));
  while (little_endian<1>(bytes, at) == '!') {  // extensions: sub-blocks up to an empty one
    at += 2;
    while (const std::uint32_t size = little_endian<1>(bytes, at).value_or(0)) at += 1 + size;
    ++at;
  }
  if (little_endian<1>(bytes, at) != ',' || !little_endian<2>(bytes, at + 7)) {
    return malformed_image(origin, "the GIF file ends before its first picture");
  }
  const auto number = [&](std::size_t offset) -> std::int64_t {
    return *little_endian<2>(bytes, at + offset);
  };
  header.width = std::max(header.width, number(1) + number(5));
  header.height = std::max(header.height, number(3) + number(7));
  if (header.width == 0 || header.height == 0) {
    return malformed_image(origin, "the GIF file says no sensible size");
  }
  return header;
}

/// RIFF: chunks of type, length, content, padded to even length.
Result<ImageHeader> read_webp_header(Bytes bytes, const std::string& origin) {
  ImageHeader header{.format = ImageFormat::kWebp};
  int width = 0;
  int height = 0;
  if (WebPGetInfo(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), &width,
                  &height) == 0) {
    return malformed_image(origin, "the header of the WebP file is broken or cut off");
  }
  header.width = width;
  header.height = height;
  Metadata metadata;
  for (std::size_t at = 12; at < bytes.size();) {
    const std::string_view type = as_text(part_of(bytes, at, 4));
    const std::optional<std::uint32_t> length = little_endian<4>(bytes, at + 4);
    if (!length) break;
    const std::string_view content = as_text(part_of(bytes, at + 8, *length));
    if (type == "EXIF") metadata.exif = content;
    if (type == "XMP ") metadata.xmp = content;
    at += 8 + std::size_t{*length} + (*length & 1U);
  }
  header.orientation = metadata.orientation();
  return header;
}

/// The name of a format that is known but not read; empty for anything else.
std::string_view unread_format(std::string_view text) {
  struct Signature {
    std::size_t offset;
    std::string_view bytes;
    std::string_view name;
  };
  static constexpr std::array kSignatures = {
      Signature{0, std::string_view("II*\0", 4), "TIFF"},
      Signature{0, std::string_view("MM\0*", 4), "TIFF"},
      Signature{4, "ftypavi", "AVIF"},
      Signature{4, "ftyphe", "HEIC"},
      Signature{4, "ftypmif1", "HEIC"},
      Signature{0, std::string_view("\0\0\0\x0cjP  ", 8), "JPEG 2000"},
      Signature{0, std::string_view("\0\0\0\x0cJXL ", 8), "JPEG XL"},
      Signature{0, "\xff\x0a", "JPEG XL"},
      Signature{0, std::string_view("\0\0\1\0", 4), "ICO"},
  };
  for (const Signature& signature : kSignatures) {
    if (text.substr(std::min(signature.offset, text.size())).starts_with(signature.bytes)) {
      return signature.name;
    }
  }
  const bool bitmap = text.starts_with("BM") && text.substr(2, 8).size() == 8 &&
                      text.substr(6, 4) == std::string_view("\0\0\0\0", 4);
  return bitmap ? "BMP" : "";
}

Error unknown_format(std::string_view text, const std::string& origin) {
  const std::string_view name = unread_format(text);
  return Error(ErrorCode::kUnknownFormat, name.empty()
                                              ? std::string("the file is not an image")
                                              : fmt::format("{} images are not read", name))
      .in_file(origin)
      .with_limit("JPEG, PNG, GIF, WebP")
      .with_hint(name.empty() ? "replace the file, or leave its row out" : "convert it to PNG");
}

}  // namespace

Result<ImageHeader> read_image_header(std::span<const std::byte> bytes, const std::string& origin) {
  const std::string_view text = as_text(bytes);
  if (text.empty()) {
    return Error(ErrorCode::kEmptyInput, "the image file is empty")
        .in_file(origin)
        .with_hint("replace the file, or leave its row out");
  }
  if (text.starts_with("\xff\xd8\xff")) return read_jpeg_header(bytes, origin);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return read_png_header(bytes, origin);
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) {
    return read_gif_header(bytes, origin);
  }
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WEBP")) {
    return read_webp_header(bytes, origin);
  }
  return unknown_format(text, origin);
}

}  // namespace omnibal::runtime
