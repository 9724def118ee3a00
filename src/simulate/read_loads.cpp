// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/codec/json.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::simulate {
namespace {

constexpr double kMostOfAnything = 1e18;

Result<cost::Load> read_load(const codec::Json& row, const std::string& path, std::size_t index) {
  if (!row.is_object()) {
    return Error(ErrorCode::kWrongType, "a load is an object")
        .in_file(path)
        .at_row(static_cast<std::int64_t>(index))
        .with_hint(R"(write {"vision_units": 9, "tokens": 4096, "token_pairs": 5000000})");
  }
  const codec::JsonFields fields(row, path, fmt::format("[{}]", index),
                                 static_cast<std::int64_t>(index));
  OMNIBAL_RETURN_IF_ERROR(fields.only({"vision_units", "tokens", "token_pairs"}));
  cost::Load load;
  OMNIBAL_ASSIGN(load.vision_units, fields.number("vision_units", 0, kMostOfAnything));
  OMNIBAL_ASSIGN(load.tokens, fields.number("tokens", 0, kMostOfAnything));
  OMNIBAL_ASSIGN(load.token_pairs, fields.number("token_pairs", 0, kMostOfAnything));
  return load;
}

}  // namespace

Result<std::vector<cost::Load>> read_loads(const std::string& path) {
  OMNIBAL_ASSIGN(const codec::Json rows, codec::read_json(path));
  if (!rows.is_array()) {
    return Error(ErrorCode::kWrongType, "loads are an array, one object a micro-batch")
        .in_file(path);
  }
  if (rows.empty()) {
    return Error(ErrorCode::kEmptyInput, "there are no loads: a step has at least one micro-batch")
        .in_file(path);
  }
  std::vector<cost::Load> loads;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OMNIBAL_ASSIGN(const cost::Load load, read_load(rows[i], path, i));
    loads.push_back(load);
  }
  return loads;
}

}  // namespace omnibal::simulate
