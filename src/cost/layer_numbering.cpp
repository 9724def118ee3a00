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

/// "vision.12", "layer12", "block_12": whatever ends in digits.
std::optional<NumberedName> parse_numbered(std::string_view name) {
  const std::size_t last_other = name.find_last_not_of("0123456789");
  const std::size_t begin = last_other == std::string_view::npos ? 0 : last_other + 1;
  std::int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, problem] = std::from_chars(name.data() + begin, end, number);
  if (problem != std::errc() || rest != end) return std::nullopt;
  return NumberedName{name.substr(0, begin), number};
}

/// Where a series begins: ours at 0, others with a dot at 0 or 1; digits without a dot may mean
/// something else ("stem_v2"), so that only a gap between them counts.
std::int64_t first_expected(std::string_view prefix, std::int64_t first) {
  if (prefix == "vision." || prefix == "llm.") return 0;
  if (!prefix.ends_with('.')) return first;
  return first == 1 ? 1 : 0;
}

/// The first number that is not there between the first and the last; nothing if none is missing.
std::optional<std::int64_t> first_gap(std::string_view prefix,
                                      const std::set<std::int64_t>& numbers) {
  std::int64_t expected = first_expected(prefix, *numbers.begin());
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
