// SPDX-License-Identifier: Apache-2.0
//
// The arrays of a stream's state as they are read: mapped, and each value checked when it is asked
// for. Private to the room.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/npy.h"
#include "plan/stream_files.h"

namespace omnibal::plan {

/// In the order of kStreamArrays.
struct StreamArrays {
  std::vector<codec::NpyFile> files;  // what the values are mapped from
  std::vector<std::span<const std::int64_t>> values;
};

/// Errors: kFileNotFound, kFileUnreadable, kMalformedNpy.
Result<StreamArrays> open_arrays(const std::string& directory);

class ArrayRows {
 public:
  ArrayRows(const std::string& directory, const StreamArrays& arrays, StreamArrayIndex index);

  std::size_t size() const { return values_.size() / columns_; }
  std::int64_t value(std::size_t row, std::size_t column) const {
    return values_[row * columns_ + column];
  }
  /// kOutOfRange, unless it is within [min, max].
  Result<std::int64_t> at(std::size_t row, std::size_t column, std::int64_t min,
                          std::int64_t max) const;
  Status check_size(std::int64_t most) const;
  /// kOutOfRange: more than `most` rows.
  Error too_many(std::int64_t most) const;

 private:
  std::string path_;
  std::size_t columns_;
  std::span<const std::int64_t> values_;
};

}  // namespace omnibal::plan
