// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "image/color.h"
#include "image/decoders.h"
#include "image/image_error.h"

namespace omnibal::runtime {
namespace {

/// What libpng's callbacks see, and where it writes. It leaves errors by a jump: nothing with a
/// destructor lives in the functions that are jumped over.
struct Reader {
  Bytes rest;
  std::string* message;
  std::vector<std::uint8_t> samples;  // [height, width, channels], 8 bits each
  std::vector<png_bytep> rows;
  int channels = 0;
  int color_type = 0;
  int bit_depth = 0;
  Palette palette = grey_palette();
  std::optional<png_color_16> transparent;  // of grey and RGB pictures
};

void read_bytes(png_structp png, png_bytep to, std::size_t size) {
  Reader& reader = *static_cast<Reader*>(png_get_io_ptr(png));
  if (size > reader.rest.size()) png_error(png, "the file ends too early");
  std::copy_n(reinterpret_cast<const png_byte*>(reader.rest.data()), size, to);
  reader.rest = reader.rest.subspan(size);
}

void fail(png_structp png, png_const_charp message) {
  *static_cast<Reader*>(png_get_error_ptr(png))->message = message;
  png_longjmp(png, 1);
}

void ignore_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void read_palette(png_structp png, png_infop info, Reader& reader) {
  png_colorp colors = nullptr;
  int num_colors = 0;
  if (png_get_PLTE(png, info, &colors, &num_colors) != 0) {
    for (int i = 0; i < num_colors; ++i) {
      reader.palette[static_cast<std::size_t>(i)] = {colors[i].red, colors[i].green, colors[i].blue,
                                                     255};
    }
  }
  png_bytep alphas = nullptr;
  int num_alphas = 0;
  png_color_16p transparent = nullptr;
  if (png_get_tRNS(png, info, &alphas, &num_alphas, &transparent) == 0) return;
  if (reader.color_type != PNG_COLOR_TYPE_PALETTE) {
    reader.transparent = *transparent;
    return;
  }
  for (int i = 0; i < num_alphas; ++i)
    reader.palette[static_cast<std::size_t>(i)].alpha = alphas[i];
}

/// Asks libpng for whole samples of 8 bits, or of 16 for grey alone: Pillow clips those.
void ask_for_bytes(png_structp png, const Reader& reader) {
  const bool palette = reader.color_type == PNG_COLOR_TYPE_PALETTE;
  if (palette) {
    png_set_packing(png);
  } else if (reader.bit_depth < 8) {
    png_set_expand_gray_1_2_4_to_8(png);
  }
  if (reader.bit_depth == 16 && reader.color_type != PNG_COLOR_TYPE_GRAY) png_set_strip_16(png);
}

bool read_samples(png_structp png, png_infop info, Reader& reader, const Image& image) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &reader, read_bytes);
  // Profiles, texts and times are not looked at, so they cannot be what fails.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  // A broken checksum is an error of any chunk: transparency must not vanish silently.
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_read_info(png, info);
  reader.color_type = png_get_color_type(png, info);
  reader.bit_depth = png_get_bit_depth(png, info);
  read_palette(png, info, reader);
  ask_for_bytes(png, reader);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  reader.channels = png_get_channels(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  reader.samples.resize(row_bytes * static_cast<std::size_t>(image.height));
  reader.rows.resize(static_cast<std::size_t>(image.height));
  for (std::size_t y = 0; y < reader.rows.size(); ++y) {
    reader.rows[y] = reader.samples.data() + y * row_bytes;
  }
  png_read_image(png, reader.rows.data());
  return true;
}

/// One pixel of `samples`. The colour that tRNS makes transparent is compared by its low byte, as
/// Pillow does; of grey with 16 bits Pillow knows none.
Rgba pixel_of(const Reader& reader, const std::uint8_t* samples) {
  const auto equals = [](std::uint8_t sample, png_uint_16 low_byte_of) {
    return sample == (low_byte_of & 0xffU);
  };
  const std::optional<png_color_16>& transparent = reader.transparent;
  switch (reader.color_type) {
    case PNG_COLOR_TYPE_PALETTE:
      return reader.palette[samples[0]];
    case PNG_COLOR_TYPE_GRAY: {
      if (reader.bit_depth == 16) {
        const std::uint8_t clipped = samples[0] != 0 ? 255 : samples[1];
        return {clipped, clipped, clipped, 255};
      }
      const png_uint_16 grey = transparent ? transparent->gray : png_uint_16{0};
      const png_uint_16 clear = reader.bit_depth == 1 && grey != 0 ? png_uint_16{255} : grey;
      const bool clears = transparent && equals(samples[0], clear);
      return {samples[0], samples[0], samples[0], static_cast<std::uint8_t>(clears ? 0 : 255)};
    }
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return {samples[0], samples[0], samples[0], samples[1]};
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return {samples[0], samples[1], samples[2], samples[3]};
    default: {
      const bool clears = transparent && equals(samples[0], transparent->red) &&
                          equals(samples[1], transparent->green) &&
                          equals(samples[2], transparent->blue);
      return {samples[0], samples[1], samples[2], static_cast<std::uint8_t>(clears ? 0 : 255)};
    }
  }
}

void take_pixels(const Reader& reader, Image& image) {
  const bool wide = reader.color_type == PNG_COLOR_TYPE_GRAY && reader.bit_depth == 16;
  const std::ptrdiff_t pixel_bytes = reader.channels * (wide ? 2 : 1);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = reader.rows[static_cast<std::size_t>(y)];
    std::uint8_t* to = image.row(y);
    for (int x = 0; x < image.width; ++x, from += pixel_bytes, to += kChannels) {
      blend_on_white(pixel_of(reader, from), to);
    }
  }
}

}  // namespace

Status decode_png(Bytes bytes, const std::string& origin, Image& image) {
  std::string message = "no memory";
  Reader reader{};
  reader.rest = bytes;
  reader.message = &message;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail, ignore_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool read = info != nullptr && read_samples(png, info, reader, image);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!read) {
    return malformed_image(origin, fmt::format("the PNG data are broken or cut off: {}", message));
  }
  take_pixels(reader, image);
  return {};
}

}  // namespace omnibal::runtime
