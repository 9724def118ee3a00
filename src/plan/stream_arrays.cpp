// SPDX-License-Identifier: Apache-2.0
#include "plan/stream_arrays.h"

#include <fmt/format.h>

namespace omnibal::plan {

Result<StreamArrays> open_arrays(const std::string& directory) {
  StreamArrays arrays;
  for (const StreamArray& array : kStreamArrays) {
    const std::string path = fmt::format("{}/{}", directory, array.file);
    OMNIBAL_ASSIGN(codec::NpyFile file, codec::NpyFile::open(path));
    OMNIBAL_ASSIGN(const auto values, file.as<std::int64_t>(array.columns == 1 ? 1 : 2));
    if (array.columns > 1 && file.shape()[1] != array.columns) {
      return Error(ErrorCode::kMalformedNpy, "the array has another number of columns")
          .in_file(path)
          .with_value(file.shape()[1])
          .with_limit(array.columns);
    }
    arrays.files.push_back(std::move(file));
    arrays.values.push_back(values);
  }
  return arrays;
}

ArrayRows::ArrayRows(const std::string& directory, const StreamArrays& arrays,
                     StreamArrayIndex index)
    : path_(fmt::format("{}/{}", directory, kStreamArrays[index].file)),
      columns_(static_cast<std::size_t>(kStreamArrays[index].columns)),
      values_(arrays.values[index]) {}

Result<std::int64_t> ArrayRows::at(std::size_t row, std::size_t column, std::int64_t min,
                                   std::int64_t max) const {
  const std::int64_t found = value(row, column);
  if (found >= min && found <= max) return found;
  return Error(ErrorCode::kOutOfRange, fmt::format("column {} of row {} is {}", column, row, found))
      .in_file(path_)
      .at_row(static_cast<std::int64_t>(row))
      .with_value(found)
      .with_limit(found < min ? min : max);
}

Status ArrayRows::check_size(std::int64_t most) const {
  if (static_cast<std::int64_t>(size()) <= most) return {};
  return too_many(most);
}

Error ArrayRows::too_many(std::int64_t most) const {
  return Error(ErrorCode::kOutOfRange, "the array has more rows than the stream can hold")
      .in_file(path_)
      .with_value(static_cast<std::int64_t>(size()))
      .with_limit(most);
}

}  // namespace omnibal::plan
