// SPDX-License-Identifier: Apache-2.0
#include "metrics/matching_bound.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

namespace omnibal::metrics {
namespace {

/// Most pairs of one sample of `wide` and one of `long_`. Packs of wide samples in order of the
/// vision units they leave: each takes the longest sample that fits, since all later ones have room
/// for the vision units of those it leaves.
std::int64_t most_pairs(std::vector<SizedCount> wide, std::vector<SizedCount> long_,
                        const PackCaps& caps) {
  const auto by_vision = [](const SizedCount& a, const SizedCount& b) {
    return a.vision < b.vision;
  };
  std::sort(wide.rbegin(), wide.rend(), by_vision);
  std::sort(long_.begin(), long_.end(), by_vision);
  std::map<std::int64_t, std::int64_t> waiting;  // tokens: samples narrow enough
  std::int64_t pairs = 0;
  auto next = long_.begin();
  for (SizedCount& pack : wide) {
    for (; next != long_.end() && next->vision + std::int64_t{pack.vision} <= caps.vision_units;
         ++next) {
      waiting[next->tokens] += next->count;
    }
    while (pack.count > 0) {
      const auto above = waiting.upper_bound(caps.tokens - pack.tokens);
      if (above == waiting.begin()) break;
      const auto longest = std::prev(above);
      const std::int64_t both = std::min(pack.count, longest->second);
      pairs += both;
      pack.count -= both;
      longest->second -= both;
      if (longest->second == 0) waiting.erase(longest);
    }
  }
  return pairs;
}

}  // namespace

std::int64_t matching_bound(std::span<const SizedCount> sizes, const PackCaps& caps) {
  std::vector<SizedCount> wide;
  std::vector<SizedCount> long_;
  std::int64_t samples = 0;
  for (const SizedCount& size : sizes) {
    const bool is_wide = 2 * std::int64_t{size.vision} > caps.vision_units;
    const bool is_long = 2 * std::int64_t{size.tokens} > caps.tokens;
    if (is_wide || is_long) samples += size.count;
    if (is_wide && !is_long) wide.push_back(size);
    if (is_long && !is_wide) long_.push_back(size);
  }
  return samples - most_pairs(std::move(wide), std::move(long_), caps);
}

}  // namespace omnibal::metrics
