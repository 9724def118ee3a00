// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/tiles.h"

#include <gtest/gtest.h>

#include <array>

namespace omnibal::runtime {
namespace {

struct Golden {
  int width;
  int height;
  std::array<int, 4> tiles;  // caps 1, 4, 6, 12
};

constexpr std::array kCaps = {1, 4, 6, 12};

/// From the published formula of InternVL.
constexpr Golden kGolden[] = {
    {224, 224, {1, 1, 1, 1}},    {448, 448, {1, 1, 1, 1}},    {449, 448, {1, 1, 1, 1}},
    {634, 633, {1, 1, 1, 1}},    {640, 480, {1, 1, 7, 13}},   {896, 448, {1, 3, 3, 3}},
    {1000, 1000, {1, 5, 5, 10}}, {1920, 1080, {1, 3, 3, 9}},  {1, 10000, {1, 5, 7, 13}},
    {690, 15420, {1, 5, 7, 13}}, {100, 22756, {1, 5, 7, 13}}, {20000, 20000, {1, 5, 5, 10}},
    {56, 56, {1, 1, 1, 1}},      {1, 1, {1, 1, 1, 1}},
};

TEST(RuntimeTiles, MatchTheGoldenNumbers) {
  for (const Golden& golden : kGolden) {
    for (std::size_t i = 0; i < kCaps.size(); ++i) {
      const TileGrid grid = choose_tile_grid(golden.width, golden.height, {.max_tiles = kCaps[i]});
      EXPECT_EQ(grid.tiles(), golden.tiles[i])
          << golden.width << " x " << golden.height << ", cap " << kCaps[i];
    }
  }
}

TEST(RuntimeTiles, ColumnsGoAlongTheWidth) {
  const TileGrid wide = choose_tile_grid(640, 480, {.max_tiles = 12});
  EXPECT_EQ(wide.columns, 4);
  EXPECT_EQ(wide.rows, 3);
  const TileGrid tall = choose_tile_grid(1, 10000, {.max_tiles = 6});
  EXPECT_EQ(tall.columns, 1);
  EXPECT_EQ(tall.rows, 6);
}

TEST(RuntimeTiles, ATieGoesToTheGridMetLastIfThePictureIsLargeEnough) {
  const TilingOptions two_tiles{.min_tiles = 2, .max_tiles = 2};
  EXPECT_EQ(choose_tile_grid(1250, 1000, two_tiles).columns, 2);  // 1.25 is between 0.5 and 2
  EXPECT_EQ(choose_tile_grid(125, 100, two_tiles).columns, 1);
}

}  // namespace
}  // namespace omnibal::runtime
