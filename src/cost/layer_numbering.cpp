// SPDX-License-Identifier: Apache-2.0
#include "cost/layer_numbering.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace omnibal::cost {
namespace {

struct NumberedName {
  std::string_view prefix;  // "vision."
  std::int64_t number = 0;
};

std::optional<NumberedName> parse_numbered(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return std::nullopt;
  std::int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, problem] = std::from_chars(name.data() + dot + 1, end, number);
  if (problem != std::errc() || rest != end || number < 0) return std::nullopt;
  return NumberedName{name.substr(0, dot + 1), number};
}

/// The first number that is not there between the first and the last; nothing if none is missing.
std::optional<std::int64_t> first_gap(std::string_view prefix,
                                      const std::set<std::int64_t>& numbers) {
  const bool ours = prefix == "vision." || prefix == "llm.";
  std::int64_t expected = !ours && *numbers.begin() == 1 ? 1 : 0;
  for (const std::int64_t number : numbers) {
    if (number != expected) return expected;
    ++expected;
  }
  return std::nullopt;
}

}  // namespace

Status check_layer_names(const std::vector<LayerProfile>& layers) {
  std::set<std::string_view> names;
  std::map<std::string_view, std::set<std::int64_t>> numbered;
  for (const LayerProfile& layer : layers) {
    if (!names.insert(layer.name).second) {
      return Error(ErrorCode::kDuplicateName,
                   fmt::format("the layer \"{}\" stands twice", layer.name))
          .at_key("layers")
          .with_value(layer.name);
    }
    if (const auto name = parse_numbered(layer.name)) numbered[name->prefix].insert(name->number);
  }
  for (const auto& [prefix, numbers] : numbered) {
    const std::optional<std::int64_t> gap = first_gap(prefix, numbers);
    if (!gap) continue;
    const std::string missing = fmt::format("{}{}", prefix, *gap);
    return Error(ErrorCode::kMissingLayer, fmt::format("the layer \"{}\" is missing", missing))
        .at_key("layers")
        .with_value(missing)
        .with_hint(fmt::format("layers {}0 to {}{} are numbered without a gap", prefix, prefix,
                               *numbers.rbegin()));
  }
  return {};
}

}  // namespace omnibal::cost
