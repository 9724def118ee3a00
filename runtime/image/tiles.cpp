// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace omnibal::runtime {

TileGrid choose_tile_grid(std::int64_t width, std::int64_t height, const TilingOptions& options) {
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  const double area = static_cast<double>(width) * static_cast<double>(height);
  const double half_tile_area = 0.5 * options.tile_size * options.tile_size;
  double best_difference = std::numeric_limits<double>::infinity();
  TileGrid best;
  // By number of tiles, then by columns: the order decides ties.
  for (int tiles = options.min_tiles; tiles <= options.max_tiles; ++tiles) {
    for (int columns = 1; columns <= tiles; ++columns) {
      if (tiles % columns != 0) continue;
      const TileGrid grid{columns, tiles / columns};
      const double difference = std::abs(ratio - static_cast<double>(grid.columns) / grid.rows);
      if (difference < best_difference ||
          (difference == best_difference && area > half_tile_area * tiles)) {
        best_difference = difference;
        best = grid;
      }
    }
  }
  return best;
}

}  // namespace omnibal::runtime
