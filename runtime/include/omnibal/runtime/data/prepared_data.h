// SPDX-License-Identifier: Apache-2.0
//
// PreparedData: the tokens and pictures of a corpus as `omnibal scan` wrote them
// (docs/formats/prepared.md), memory-mapped.
//
//   OMNIBAL_ASSIGN(const PreparedData data, PreparedData::open("corpus"));
//   const PreparedRow row = data.row_of(sample);
//   row.tokens[0], row.supervised[0], row.images[0].path;
//
// Not decoded pictures: pack_source.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/npy.h"
#include "omnibal/runtime/image/tiles.h"

namespace omnibal::runtime {

struct PreparedImage {
  std::string path;
  TileGrid grid;
};

struct PreparedRow {
  std::span<const std::uint32_t> tokens;
  std::span<const std::uint8_t> supervised;  // as many; not 0: the token has a loss
  std::vector<PreparedImage> images;
};

/// Columns of the corpus, one entry a sample.
struct CorpusColumns {
  std::span<const std::uint32_t> vision, tokens, row;
  std::span<const std::uint16_t> dummy_vision, source;
};

class PreparedData {
 public:
  /// Checks types, lengths, offsets and that each sample has as many tokens as its row. Errors:
  /// kFileNotFound, kUnknownFormat, kMalformedNpy, kOutOfRange, each with the file; those of
  /// read_json. O(samples).
  static Result<PreparedData> open(const std::string& directory);

  std::int64_t num_samples() const { return static_cast<std::int64_t>(prepared_row_.size()); }
  /// 0 <= sample < num_samples().
  PreparedRow row_of(std::int64_t sample) const;
  const CorpusColumns& columns() const { return columns_; }
  int tile_size() const { return tile_size_; }
  std::uint32_t image_token() const { return image_token_; }

 private:
  Status read_description(const std::string& directory);
  Status read_columns(const std::string& directory);
  Status read_rows(const std::string& directory);
  Status read_images(const std::string& directory);
  Status check_samples(const std::string& directory) const;

  template <class T>
  Result<std::span<const T>> map(const std::string& path, std::size_t num_dimensions = 1);

  std::vector<codec::NpyFile> files_;  // keep the mappings of the spans alive
  CorpusColumns columns_;
  std::span<const std::uint32_t> prepared_row_, token_ids_;
  std::span<const std::uint8_t> supervised_, image_paths_;
  std::span<const std::int64_t> token_offsets_, image_offsets_, path_offsets_;
  std::span<const std::int32_t> image_grids_;  // [pictures, 2]
  int tile_size_ = 0;
  std::uint32_t image_token_ = 0;
};

}  // namespace omnibal::runtime
