// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/preprocess.h"

#include <algorithm>

namespace omnibal::runtime {
namespace {

/// The float of each of the 256 values of each channel; rounded as NumPy rounds it: scaled in
/// double, the rest in float.
using ValueTable = std::array<std::array<float, 256>, kChannels>;

ValueTable make_value_table(const ImageProcessor& processor) {
  ValueTable table;
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      const auto scaled = static_cast<float>(static_cast<double>(value) * processor.rescale_factor);
      table[channel][value] = (scaled - processor.mean[channel]) / processor.std_deviation[channel];
    }
  }
  return table;
}

/// Appends the square at (left, top) as [3, size, size].
void append_tile(const Image& image, int left, int top, const ValueTable& table, PixelValues& fed) {
  const auto size = static_cast<std::size_t>(fed.tile_size);
  const std::size_t begin = fed.values.size();
  fed.values.resize(begin + kChannels * size * size);
  for (std::size_t y = 0; y < size; ++y) {
    const std::uint8_t* from =
        image.row(top + static_cast<int>(y)) + static_cast<std::ptrdiff_t>(left) * kChannels;
    float* const to = fed.values.data() + begin + y * size;
    for (std::size_t x = 0; x < size; ++x, from += kChannels) {
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        to[channel * size * size + x] = table[channel][from[channel]];
      }
    }
  }
  ++fed.tiles;
}

}  // namespace

PixelValues preprocess(const Image& image, const ImageProcessor& processor, int max_tiles) {
  TilingOptions tiling = processor.tiling;
  tiling.max_tiles = std::min(max_tiles, tiling.max_tiles);
  return preprocess(image, processor, choose_tile_grid(image.width, image.height, tiling));
}

PixelValues preprocess(const Image& image, const ImageProcessor& processor, const TileGrid& grid) {
  const int size = processor.tiling.tile_size;
  const ValueTable table = make_value_table(processor);
  PixelValues fed;
  fed.tile_size = size;
  fed.values.reserve(static_cast<std::size_t>(grid.tiles()) * kChannels *
                     static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  const Image tiled =
      resize_bicubic(image, grid.columns * size, grid.rows * size, processor.pass_order);
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      append_tile(tiled, column * size, row * size, table, fed);
    }
  }
  if (grid.has_thumbnail()) {
    append_tile(resize_bicubic(image, size, size, processor.pass_order), 0, 0, table, fed);
  }
  return fed;
}

}  // namespace omnibal::runtime
