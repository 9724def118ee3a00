// SPDX-License-Identifier: Apache-2.0
#include "steps/alike_groups.h"

#include <algorithm>

#include "steps/load_split.h"

namespace omnibal::steps {
namespace {

/// Below this many groups the places of single packs hide where a cut is best: halves are safe.
constexpr std::size_t kHalvedGroups = 4;

/// How many of `groups` groups of `size` go into the heavy part.
std::size_t heavy_groups(const LoadSplit& split, std::size_t num_packs, std::size_t groups,
                         std::size_t size) {
  if (groups <= kHalvedGroups || split.gain <= 0) return groups / 2;
  const std::size_t least = std::max<std::size_t>(1, groups / 8);
  const std::size_t nearest = (num_packs - split.light + size / 2) / size;
  return std::clamp(nearest, least, groups - least);
}

}  // namespace

void group_alike(std::span<LoadedPack> packs, std::size_t size, const AlikeRule& rule) {
  if (packs.size() <= size) {
    std::sort(packs.begin(), packs.end(),
              [](const LoadedPack& a, const LoadedPack& b) { return a.pack < b.pack; });
    return;
  }
  const LoadSplit split = best_split(packs, rule);
  const std::size_t groups = (packs.size() + size - 1) / size;
  const std::size_t cut = heavy_groups(split, packs.size(), groups, size) * size;
  const std::size_t k = split.load;
  std::nth_element(packs.begin(), packs.begin() + static_cast<std::ptrdiff_t>(cut), packs.end(),
                   [k](const LoadedPack& a, const LoadedPack& b) {
                     return a.load[k] != b.load[k] ? a.load[k] > b.load[k] : a.pack < b.pack;
                   });
  group_alike(packs.first(cut), size, rule);
  group_alike(packs.subspan(cut), size, rule);
}

}  // namespace omnibal::steps
