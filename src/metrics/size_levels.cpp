// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/size_levels.h"

#include <algorithm>

namespace omnibal::metrics {
namespace {

using Column = std::uint32_t SizedCount::*;

SizeRange range_of(std::span<const SizedCount> sizes, Column column) {
  SizeRange range{sizes.front().*column, sizes.front().*column, 0};
  double total = 0;
  double count = 0;
  for (const SizedCount& size : sizes) {
    range.low = std::min(range.low, size.*column);
    range.high = std::max(range.high, size.*column);
    total += static_cast<double>(size.count) * static_cast<double>(size.*column);
    count += static_cast<double>(size.count);
  }
  range.mean = total / count;
  return range;
}

SizeLevel level_of(std::span<const SizedCount> sizes, std::size_t begin, std::size_t end) {
  SizeLevel level;
  level.begin = begin;
  level.end = end;
  const auto own = sizes.subspan(begin, end - begin);
  for (const SizedCount& size : own) level.count += size.count;
  level.vision = range_of(own, &SizedCount::vision);
  level.tokens = range_of(own, &SizedCount::tokens);
  return level;
}

double relative(const SizeRange& range, std::int64_t cap) {
  return static_cast<double>(range.spread()) / static_cast<double>(cap);
}

double blur(const SizeLevel& level, const PackCaps& caps) {
  return static_cast<double>(level.count) *
         (relative(level.vision, caps.vision_units) + relative(level.tokens, caps.tokens));
}

/// Where the second part begins; both have a member, as the range is not a point.
std::size_t cut(std::span<SizedCount> sizes, const SizeLevel& level, Column column) {
  const SizeRange& range = column == &SizedCount::vision ? level.vision : level.tokens;
  const std::uint32_t last = std::min(range.high - 1, static_cast<std::uint32_t>(range.mean));
  const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(level.begin);
  const auto second = std::stable_partition(
      first, sizes.begin() + static_cast<std::ptrdiff_t>(level.end),
      [column, last](const SizedCount& size) { return size.*column <= last; });
  return static_cast<std::size_t>(second - sizes.begin());
}

}  // namespace

std::vector<SizeLevel> cut_into_levels(std::span<SizedCount> sizes, const PackCaps& caps,
                                       std::size_t max_levels) {
  if (sizes.empty()) return {};
  std::vector<SizeLevel> levels = {level_of(sizes, 0, sizes.size())};
  while (levels.size() < max_levels) {
    const auto widest = std::max_element(
        levels.begin(), levels.end(),
        [&caps](const SizeLevel& a, const SizeLevel& b) { return blur(a, caps) < blur(b, caps); });
    if (widest->vision.spread() == 0 && widest->tokens.spread() == 0) break;
    const bool by_vision =
        relative(widest->vision, caps.vision_units) > relative(widest->tokens, caps.tokens);
    const std::size_t middle =
        cut(sizes, *widest, by_vision ? &SizedCount::vision : &SizedCount::tokens);
    const SizeLevel second = level_of(sizes, middle, widest->end);
    *widest = level_of(sizes, widest->begin, middle);
    levels.push_back(second);
  }
  return levels;
}

}  // namespace omnibal::metrics
