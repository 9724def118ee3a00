// SPDX-License-Identifier: Apache-2.0
//
// One element of a length list: {"vit_num": 5, "token_num": 1341, "image_flags": 5}. Private to the
// room.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "omnibal/base/result.h"

namespace omnibal::corpus {

inline constexpr std::int64_t kMaxLength = INT32_MAX;  // of vision units and of tokens

struct LengthRow {
  std::int64_t vit_num = 0;
  std::int64_t token_num = 0;
  std::int64_t image_flags = 0;
  double weight = 1;  // 0 .. kMaxLength: how often the sample is wanted
};

/// Parses rows one after the other, keeping its buffers.
class LengthRowParser {
 public:
  LengthRowParser();
  LengthRowParser(LengthRowParser&&) noexcept;
  ~LengthRowParser();

  /// `text` must be followed by RowReader::kPadding readable bytes, and be nested at most
  /// RowReader::kMaxDepth deep. The whole of it is checked to be JSON, unknown keys included.
  /// Errors, with row and key but without file: kMalformedJson, kDuplicateKey, kConflictingKeys,
  /// kMissingKey, kWrongType, kOutOfRange.
  Result<LengthRow> parse(std::string_view text, std::int64_t row);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether an object is a row: one of its keys is that of a length, or it is malformed before any
/// could be met. `text` as for LengthRowParser::parse.
bool is_length_row(std::string_view text);

}  // namespace omnibal::corpus
