// SPDX-License-Identifier: Apache-2.0
//
// InternVL's dynamic tiling: the grid of tiles whose aspect ratio is nearest to the picture's.
//
//   const TileGrid grid = choose_tile_grid(640, 480, {.max_tiles = 12});
//   grid.columns, grid.rows;   // 4, 3
//   grid.tiles();              // 13: the thumbnail is one more
//
// Not for native-resolution towers (Qwen2-VL), which have patches instead of tiles.
#pragma once

#include <cstdint>

namespace omnibal::runtime {

struct TilingOptions {
  int tile_size = 448;
  int min_tiles = 1;
  int max_tiles = 12;  // the thumbnail is not counted
};

struct TileGrid {
  int columns = 1;
  int rows = 1;
  bool has_thumbnail() const { return columns * rows > 1; }
  int tiles() const { return columns * rows + (has_thumbnail() ? 1 : 0); }
};

/// Width and height are those of the upright picture. A tie between ratios goes to the larger grid
/// if the picture's area exceeds half of that grid's. One tile if no grid has min..max tiles.
TileGrid choose_tile_grid(std::int64_t width, std::int64_t height, const TilingOptions& options);

}  // namespace omnibal::runtime
