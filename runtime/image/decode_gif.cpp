// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "image/color.h"
#include "image/decoders.h"
#include "image/image_error.h"

namespace omnibal::runtime {
namespace {

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, CloseGif>;

int read_bytes(GifFileType* gif, GifByteType* to, int size) {
  Bytes& rest = *static_cast<Bytes*>(gif->UserData);
  const std::size_t count = std::min(static_cast<std::size_t>(size), rest.size());
  std::copy_n(reinterpret_cast<const GifByteType*>(rest.data()), count, to);
  rest = rest.subspan(count);
  return static_cast<int>(count);
}

/// Steps to the first picture; the index that its graphic control makes transparent, if any.
bool find_picture(GifFileType* gif, std::optional<std::size_t>& transparent) {
  for (GifRecordType record{}; DGifGetRecordType(gif, &record) == GIF_OK;) {
    if (record == IMAGE_DESC_RECORD_TYPE) return DGifGetImageDesc(gif) == GIF_OK;
    if (record != EXTENSION_RECORD_TYPE) return false;
    int kind = 0;
    GifByteType* block = nullptr;  // a length, then the bytes
    if (DGifGetExtension(gif, &kind, &block) != GIF_OK) return false;
    const bool control = kind == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4;
    if (control && (block[1] & 1U) != 0) transparent = block[4];
    while (block != nullptr) {
      if (DGifGetExtensionNext(gif, &block) != GIF_OK) return false;
    }
  }
  return false;
}

Palette palette_of(const GifFileType* gif, std::optional<std::size_t> transparent) {
  Palette palette = grey_palette();
  const ColorMapObject* const map =
      gif->Image.ColorMap != nullptr ? gif->Image.ColorMap : gif->SColorMap;
  for (int i = 0; map != nullptr && i < map->ColorCount; ++i) {
    const GifColorType color = map->Colors[i];
    palette[static_cast<std::size_t>(i)] = {color.Red, color.Green, color.Blue, 255};
  }
  if (transparent) palette[*transparent].alpha = 0;
  return palette;
}

/// Rows as they are stored: all, or every 8th from 0, every 8th from 4, every 4th from 2, every
/// 2nd from 1.
std::vector<int> row_order(int height, bool interlaced) {
  std::vector<int> rows;
  const auto add = [&](int first, int step) {
    for (int y = first; y < height; y += step) rows.push_back(y);
  };
  if (!interlaced) {
    add(0, 1);
    return rows;
  }
  add(0, 8);
  add(4, 8);
  add(2, 4);
  add(1, 2);
  return rows;
}

}  // namespace

Status decode_gif(Bytes bytes, const std::string& origin, Image& image) {
  int problem = 0;
  const Gif gif(DGifOpen(&bytes, read_bytes, &problem));
  const auto broken = [&](int code) {
    const char* const why = GifErrorString(code);
    return malformed_image(origin, fmt::format("the GIF data are broken or cut off: {}",
                                               why != nullptr ? why : "no picture"));
  };
  if (gif == nullptr) return broken(problem);
  std::optional<std::size_t> transparent;
  if (!find_picture(gif.get(), transparent)) return broken(gif->Error);
  const GifImageDesc& frame = gif->Image;
  if (frame.Left + frame.Width > image.width || frame.Top + frame.Height > image.height) {
    return malformed_image(origin, "the GIF file contradicts itself about its size");
  }
  const Palette palette = palette_of(gif.get(), transparent);
  for (int y = 0; y < image.height; ++y) {  // what the frame leaves uncovered
    for (int x = 0; x < image.width; ++x) {
      blend_on_white(palette[transparent.value_or(0)], image.row(y) + kChannels * x);
    }
  }
  std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
  for (const int y : row_order(frame.Height, frame.Interlace)) {
    if (DGifGetLine(gif.get(), line.data(), frame.Width) != GIF_OK) return broken(gif->Error);
    std::uint8_t* to = image.row(frame.Top + y) + kChannels * frame.Left;
    for (const GifPixelType index : line) {
      blend_on_white(palette[index], to);
      to += kChannels;
    }
  }
  return {};
}

}  // namespace omnibal::runtime
