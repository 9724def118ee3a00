// SPDX-License-Identifier: Apache-2.0
#include "cli/options/index_list.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace omnibal::cli {
namespace {

constexpr std::int64_t kMostIndices = 1'000'000;

std::optional<std::int64_t> parse_index(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

struct IndexRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// "7" or "0-9".
std::optional<IndexRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_index(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_index(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kMostIndices) return std::nullopt;
  return IndexRange{*first, *last};
}

}  // namespace

Result<std::vector<std::int64_t>> parse_index_list(std::string_view text, const std::string& flag) {
  std::vector<std::int64_t> indices;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::optional<IndexRange> range = parse_range(part);
    if (!range || static_cast<std::int64_t>(indices.size()) > kMostIndices) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{} takes indices and ranges of them", flag))
          .at_key(flag)
          .with_value(std::string(part))
          .with_hint("write 0-9,50");
    }
    for (std::int64_t i = range->first; i <= range->last; ++i) indices.push_back(i);
    begin = end + 1;
  }
  return indices;
}

}  // namespace omnibal::cli
