// SPDX-License-Identifier: Apache-2.0
//
// From a picture to what the vision tower is fed: tiles of one size, normalised, channel by
// channel. Equal to transformers' GotOcr2ImageProcessorPil.
//
//   OMNIBAL_ASSIGN(const ImageProcessor processor, read_image_processor("model/"));
//   const PixelValues fed = preprocess(image, processor, 12);
//   fed.tiles;   // of fed.values: [tiles, 3, size, size]
//
// Not for processors that crop, pad or keep the picture's shape: they are refused by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/runtime/image/image.h"
#include "omnibal/runtime/image/resize.h"
#include "omnibal/runtime/image/tiles.h"

namespace omnibal::runtime {

struct ImageProcessor {
  TilingOptions tiling;
  double rescale_factor = 1.0 / 255.0;
  std::array<float, kChannels> mean = {0.485F, 0.456F, 0.406F};
  std::array<float, kChannels> std_deviation = {0.229F, 0.224F, 0.225F};
  PassOrder pass_order = PassOrder::kPillow13;
};

/// Reads `preprocessor_config.json` or, where a directory has none, the image processor in
/// `processor_config.json`; `path` is one of them or their directory. Errors: those of read_json,
/// kMissingKey, kWrongType, kOutOfRange; kUnsupportedModel for a step that is not done here.
Result<ImageProcessor> read_image_processor(const std::string& path);

struct PixelValues {
  int tiles = 0;
  int tile_size = 0;
  std::vector<float> values;  // [tiles, 3, tile_size, tile_size]; tiles row by row, thumbnail last
};

/// `max_tiles` is the cap of this picture, at most that of the processor.
PixelValues preprocess(const Image& image, const ImageProcessor& processor, int max_tiles);
/// On a grid that was chosen before, whatever the picture's shape is now.
PixelValues preprocess(const Image& image, const ImageProcessor& processor, const TileGrid& grid);

}  // namespace omnibal::runtime
