// SPDX-License-Identifier: Apache-2.0
#include "runtime/image/sample_images.h"

#include <cstdio>
// After <cstdio>: the header uses FILE without including it.
#include <jpeglib.h>
#include <zlib.h>

#include <cstdlib>
#include <vector>

namespace omnibal::runtime {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

const Bytef* as_bytes(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

std::string chunk(std::string_view type, std::string_view content) {
  std::string body(type);
  body += content;
  const auto checksum =
      static_cast<std::uint32_t>(::crc32(0, as_bytes(body), static_cast<uInt>(body.size())));
  return big_endian(static_cast<std::uint32_t>(content.size())) + body + big_endian(checksum);
}

std::string deflated(std::string_view text) {
  std::string compressed(::compressBound(text.size()), '\0');
  uLongf size = compressed.size();
  ::compress(reinterpret_cast<Bytef*>(compressed.data()), &size, as_bytes(text), text.size());
  compressed.resize(size);
  return compressed;
}

std::string header_chunk(std::uint32_t width, std::uint32_t height, int bit_depth, int color_type) {
  std::string content = big_endian(width) + big_endian(height);
  content += static_cast<char>(bit_depth);
  content += static_cast<char>(color_type);
  content += std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", content);
}

}  // namespace

std::string png_header(std::uint32_t width, std::uint32_t height) {
  return header_chunk(width, height, 8, 2);
}

std::string png_file(const PngSpec& spec, std::string_view samples) {
  std::string file = header_chunk(spec.width, spec.height, spec.bit_depth, spec.color_type);
  if (!spec.palette.empty()) file += chunk("PLTE", spec.palette);
  if (!spec.transparent.empty()) file += chunk("tRNS", spec.transparent);
  const std::size_t row_bytes = samples.size() / spec.height;
  std::string filtered;
  for (std::size_t y = 0; y < spec.height; ++y) {
    filtered += '\0';
    filtered += samples.substr(y * row_bytes, row_bytes);
  }
  file += chunk("IDAT", deflated(filtered));
  if (!spec.exif.empty()) file += chunk("eXIf", spec.exif);
  return file + chunk("IEND", "");
}

std::string exif_of(int orientation) {
  std::string exif("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19);
  exif += static_cast<char>(orientation);
  exif += raw("\0\0\0\0\0\0");
  return exif;
}

std::string jpeg_file(int width, int height, int orientation) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  if (orientation != 0) {
    const std::string segment = raw("Exif\0\0") + exif_of(orientation);
    jpeg_write_marker(&info, JPEG_APP0 + 1, as_bytes(segment),
                      static_cast<unsigned>(segment.size()));
  }
  std::vector<JSAMPLE> line(static_cast<std::size_t>(width));
  for (int x = 0; x < width; ++x) {
    line[static_cast<std::size_t>(x)] = static_cast<JSAMPLE>(255 * x / width);
  }
  JSAMPROW row = line.data();
  for (int y = 0; y < height; ++y) jpeg_write_scanlines(&info, &row, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(buffer), size);
  std::free(buffer);
  return file;
}

}  // namespace omnibal::runtime
