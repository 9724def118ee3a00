// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/name_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "omnibal/base/nearest_name.h"

namespace omnibal {
namespace {

/// More are not listed, only those near to what was typed.
constexpr std::size_t kMostListed = 24;
constexpr std::size_t kNear = 3;

std::string choices_text(std::string_view typed, std::span<const std::string> names) {
  if (names.size() <= kMostListed) return fmt::format("use one of: {}", fmt::join(names, ", "));
  std::vector<std::string> others(names.begin(), names.end());
  std::vector<std::string> near;
  for (std::size_t i = 0; i < kNear; ++i) {
    near.push_back(nearest_name(typed, others));
    std::erase(others, near.back());
  }
  return fmt::format("use one of the {} there are, such as {}", names.size(),
                     fmt::join(near, ", "));
}

}  // namespace

Error unknown_name(std::string_view what, std::string_view key, std::string_view typed,
                   std::span<const std::string> names) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("there is no {} \"{}\"; the nearest is \"{}\"", what, typed,
                           nearest_name(typed, names)))
      .at_key(std::string(key))
      .with_value(std::string(typed))
      .with_hint(choices_text(typed, names));
}

}  // namespace omnibal
