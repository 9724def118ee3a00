// SPDX-License-Identifier: Apache-2.0
#include "steps/window_groups.h"

#include <algorithm>

#include "steps/alike_groups.h"
#include "steps/load_regions.h"

namespace omnibal::steps {
namespace {

/// Packs from which the regions are drawn.
constexpr std::size_t kSampleSize = std::size_t{1} << 16;

/// A region holds half a group on average, so that twice as many regions as groups fill a window.
constexpr std::size_t kRegionsPerGroup = 2;

constexpr std::uint32_t kGrouped = ~std::uint32_t{0} - 1;

/// Groups what meets in a region; returns how many packs still wait, moved to the front of `packs`.
std::size_t group_by_region(std::span<LoadedPack> packs, const GroupShape& shape,
                            const AlikeRule& rule, std::vector<std::int64_t>& groups) {
  std::vector<std::uint32_t> links(packs.size());
  const auto sample = packs.first(std::min(packs.size(), kSampleSize));
  LoadRegions regions({sample.begin(), sample.end()}, kRegionsPerGroup * shape.window, shape.size,
                      rule, links);
  std::vector<std::uint32_t> group(shape.size);
  const auto finish = [&](std::size_t region) {
    regions.take(region, group);
    for (const std::uint32_t i : group) {
      groups.push_back(packs[i].pack);
      links[i] = kGrouped;
    }
  };
  for (std::uint32_t i = 0; i < packs.size(); ++i) {
    if (regions.waiting() == shape.window * shape.size) finish(regions.fullest_region());
    if (const auto region = regions.add(packs[i], i)) finish(*region);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    if (links[i] != kGrouped) packs[kept++] = packs[i];
  }
  return kept;
}

}  // namespace

void group_in_windows(std::span<LoadedPack> packs, const GroupShape& shape, const AlikeRule& rule,
                      std::vector<std::int64_t>& groups) {
  const bool all_at_once = shape.window == 0 || packs.size() / shape.size <= shape.window;
  if (!all_at_once) packs = packs.first(group_by_region(packs, shape, rule, groups));
  group_alike(packs, shape.size, rule);
  for (const LoadedPack& pack : packs) groups.push_back(pack.pack);
}

}  // namespace omnibal::steps
