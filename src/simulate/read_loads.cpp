// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/codec/json.h"
#include "omnibal/cost/load_json.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::simulate {
namespace {

/// As many as --micro-batches accepts.
constexpr std::size_t kMostMicroBatches = std::size_t{1} << 20;

constexpr const char* kExample =
    R"(write {"vision_units": 9, "tokens": 4096, "token_pairs": 5000000})";

Result<cost::Load> read_load(const codec::Json& row, const std::string& path, std::size_t index) {
  if (!row.is_object()) {
    return Error(ErrorCode::kWrongType, "a load is an object")
        .in_file(path)
        .at_row(static_cast<std::int64_t>(index))
        .with_hint(kExample);
  }
  const codec::JsonFields fields(row, path, fmt::format("[{}]", index),
                                 static_cast<std::int64_t>(index));
  Result<cost::Load> load = cost::read_load(fields);
  if (!load && load.error().hint.empty()) return std::move(load).error().with_hint(kExample);
  return load;
}

}  // namespace

Result<std::vector<cost::Load>> read_loads(const std::string& path) {
  OMNIBAL_ASSIGN(const codec::Json rows, codec::read_json(path));
  if (!rows.is_array()) {
    return Error(ErrorCode::kWrongType, "loads are an array, one object a micro-batch")
        .in_file(path)
        .with_hint(fmt::format("[...], and in it: {}", kExample));
  }
  if (rows.empty()) {
    return Error(ErrorCode::kEmptyInput, "there are no loads: a step has at least one micro-batch")
        .in_file(path);
  }
  if (rows.size() > kMostMicroBatches) {
    return Error(ErrorCode::kOutOfRange, "there are more loads than a step has micro-batches")
        .in_file(path)
        .with_value(static_cast<std::int64_t>(rows.size()))
        .with_limit(static_cast<std::int64_t>(kMostMicroBatches));
  }
  std::vector<cost::Load> loads;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OMNIBAL_ASSIGN(const cost::Load load, read_load(rows[i], path, i));
    loads.push_back(load);
  }
  return loads;
}

}  // namespace omnibal::simulate
