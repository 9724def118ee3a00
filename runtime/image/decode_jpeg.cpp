// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
// After <cstdio>: the header uses FILE without including it.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <vector>

#include "image/color.h"
#include "image/decoders.h"
#include "image/image_error.h"

namespace omnibal::runtime {
namespace {

/// libjpeg reports by callbacks and leaves them by a jump; nothing with a destructor lives in the
/// functions that are jumped over.
struct Decoder {
  jpeg_error_mgr errors;  // first: libjpeg hands out its address
  jpeg_decompress_struct info;
  std::jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
};

void fail(j_common_ptr info) {
  Decoder& decoder = *reinterpret_cast<Decoder*>(info->err);
  info->err->format_message(info, decoder.message);
  std::longjmp(decoder.failed, 1);
}

/// Warnings pass, as in Pillow, but for the one that makes grey rows out of a file cut short.
void warn(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) fail(info);
}

/// Calls `take(samples, row)` for each row. False: `decoder.message` says why. `line` has room for
/// a row.
template <class Take>
bool decode_rows(Decoder& decoder, Bytes bytes, Image& image, std::vector<std::uint8_t>& line,
                 const Take& take) {
  jpeg_decompress_struct& info = decoder.info;
  info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = fail;
  decoder.errors.emit_message = warn;
  if (setjmp(decoder.failed) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  const bool cmyk = info.num_components == 4;
  info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  if (info.output_width != static_cast<unsigned>(image.width) ||
      info.output_height != static_cast<unsigned>(image.height)) {
    std::snprintf(decoder.message, sizeof decoder.message, "two frames differ in size");
    jpeg_destroy_decompress(&info);
    return false;
  }
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = line.data();
    const int y = static_cast<int>(info.output_scanline);
    jpeg_read_scanlines(&info, &row, 1);
    take(line.data(), image.row(y), cmyk);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

}  // namespace

Status decode_jpeg(Bytes bytes, const std::string& origin, Image& image) {
  constexpr std::size_t kMaxComponents = 4;
  std::vector<std::uint8_t> line(static_cast<std::size_t>(image.width) * kMaxComponents);
  Decoder decoder{};
  const auto take_row = [&image](const std::uint8_t* samples, std::uint8_t* to, bool cmyk) {
    const std::ptrdiff_t width = image.width;
    if (!cmyk) {
      std::copy_n(samples, width * kChannels, to);
      return;
    }
    // Four components are taken for Adobe's, which are stored inverted.
    for (std::ptrdiff_t x = 0; x < width; ++x) {
      std::uint8_t inks[4];
      for (std::ptrdiff_t i = 0; i < 4; ++i) {
        inks[i] = static_cast<std::uint8_t>(255 - samples[4 * x + i]);
      }
      cmyk_to_rgb(inks, to + kChannels * x);
    }
  };
  if (decode_rows(decoder, bytes, image, line, take_row)) return {};
  return malformed_image(origin,
                         fmt::format("the JPEG data are broken or cut off: {}", decoder.message));
}

}  // namespace omnibal::runtime
