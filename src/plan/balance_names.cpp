// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "omnibal/plan/model_balance.h"

namespace omnibal::plan {
namespace {

template <class E>
struct Name {
  E value;
  std::string_view text;
};

constexpr std::array kPartitionMethods = {Name{PartitionMethod::kBmp, "bmp"},
                                          Name{PartitionMethod::kMinMax, "min-max"},
                                          Name{PartitionMethod::kLeastVariance, "least-variance"},
                                          Name{PartitionMethod::kAnchor, "anchor"},
                                          Name{PartitionMethod::kEvenLayers, "even-layers"},
                                          Name{PartitionMethod::kEvenParameters, "even-parameters"},
                                          Name{PartitionMethod::kVisionFirst, "vision-first"}};

constexpr std::array kRecomputeMethods = {Name{RecomputeMethod::kNone, "none"},
                                          Name{RecomputeMethod::kFull, "full"},
                                          Name{RecomputeMethod::kBar, "bar"}};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.text);
  return names;
}

template <class Table>
auto find_name(const Table& table, std::string_view what, std::string_view key,
               std::string_view text) -> Result<decltype(table[0].value)> {
  for (const auto& row : table) {
    if (row.text == text) return row.value;
  }
  return Error(ErrorCode::kInvalidArgument, fmt::format("there is no {} \"{}\"", what, text))
      .at_key(std::string(key))
      .with_value(std::string(text))
      .with_hint(fmt::format("use one of: {}", fmt::join(names_of(table), ", ")));
}

}  // namespace

std::vector<std::string> partition_methods() { return names_of(kPartitionMethods); }

Result<PartitionMethod> parse_partition_method(std::string_view text) {
  return find_name(kPartitionMethods, "partition method", "method", text);
}

std::vector<std::string> recompute_methods() { return names_of(kRecomputeMethods); }

Result<RecomputeMethod> parse_recompute_method(std::string_view text) {
  return find_name(kRecomputeMethods, "way to recompute", "recompute", text);
}

}  // namespace omnibal::plan
