// SPDX-License-Identifier: Apache-2.0
#include "steps/alike_groups.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace omnibal::steps {
namespace {

/// How much a relative range counts. A step waits for its slowest rank, and of a model's time the
/// vision units and the tokens take far more than attention; vision units come in few values, so
/// cutting along them first costs little.
constexpr std::array<double, kNumLoads> kWeights = {4.0, 1.6, 1.0};

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

/// Weighted sum of (max - mean) / max: what the ranks of the group wait for each other.
double unlikeness(std::span<const LoadedPack> group) {
  double total = 0;
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    std::int64_t high = 0;
    std::int64_t sum = 0;
    for (const LoadedPack& p : group) {
      high = std::max(high, p.load[k]);
      sum += p.load[k];
    }
    if (high == 0) continue;
    const double all_high = static_cast<double>(high) * static_cast<double>(group.size());
    total += kWeights[k] * (1 - static_cast<double>(sum) / all_high);
  }
  return total;
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

void most_alike_first(std::span<LoadedPack> groups, std::size_t size) {
  std::vector<double> score;
  for (std::size_t begin = 0; begin < groups.size(); begin += size) {
    score.push_back(unlikeness(groups.subspan(begin, size)));
  }
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&score](std::size_t a, std::size_t b) {
    return score[a] != score[b] ? score[a] < score[b] : a < b;
  });
  const std::vector<LoadedPack> before(groups.begin(), groups.end());
  for (std::size_t g = 0; g < order.size(); ++g) {
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(order[g] * size), size,
                groups.begin() + static_cast<std::ptrdiff_t>(g * size));
  }
}

}  // namespace omnibal::steps
