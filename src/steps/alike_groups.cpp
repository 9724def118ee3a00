// SPDX-License-Identifier: Apache-2.0
#include "steps/alike_groups.h"

#include <algorithm>

namespace omnibal::steps {
namespace {

/// How much a relative range counts. A step waits for its slowest rank, and of a model's time the
/// vision units and the tokens take far more than attention; vision units come in few values, so
/// cutting along them first costs little.
constexpr std::array<double, kNumLoads> kWeights = {4.0, 1.5, 1.0};

/// The load whose weighted (max - min) / max is the largest. Ranges do not depend on the order of
/// the packs, as rounded sums would.
std::size_t widest_load(std::span<const LoadedPack> packs) {
  std::array<std::int64_t, kNumLoads> low = packs.front().load;
  std::array<std::int64_t, kNumLoads> high = low;
  for (const LoadedPack& p : packs) {
    for (std::size_t k = 0; k < kNumLoads; ++k) {
      low[k] = std::min(low[k], p.load[k]);
      high[k] = std::max(high[k], p.load[k]);
    }
  }
  std::size_t widest = 0;
  double width = 0;
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    if (high[k] == 0) continue;
    const double range =
        kWeights[k] * static_cast<double>(high[k] - low[k]) / static_cast<double>(high[k]);
    if (range > width) {
      width = range;
      widest = k;
    }
  }
  return widest;
}

}  // namespace

void group_alike(std::span<LoadedPack> packs, std::size_t size) {
  if (packs.size() <= size) {
    std::sort(packs.begin(), packs.end(),
              [](const LoadedPack& a, const LoadedPack& b) { return a.pack < b.pack; });
    return;
  }
  const std::size_t num_groups = (packs.size() + size - 1) / size;
  const std::size_t cut = num_groups / 2 * size;
  const std::size_t k = widest_load(packs);
  std::nth_element(packs.begin(), packs.begin() + static_cast<std::ptrdiff_t>(cut), packs.end(),
                   [k](const LoadedPack& a, const LoadedPack& b) {
                     return a.load[k] != b.load[k] ? a.load[k] > b.load[k] : a.pack < b.pack;
                   });
  group_alike(packs.first(cut), size);
  group_alike(packs.subspan(cut), size);
}

}  // namespace omnibal::steps
