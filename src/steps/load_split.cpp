// SPDX-License-Identifier: Apache-2.0
#include "steps/load_split.h"

#include <algorithm>

namespace omnibal::steps {
namespace {

constexpr std::size_t kBins = 32;

struct Range {
  std::array<float, kNumLoads> low, high;
};

Range range_of(std::span<const LoadedPack> packs) {
  Range range{packs.front().load, packs.front().load};
  for (const LoadedPack& pack : packs) {
    for (std::size_t k = 0; k < kNumLoads; ++k) {
      range.low[k] = std::min(range.low[k], pack.load[k]);
      range.high[k] = std::max(range.high[k], pack.load[k]);
    }
  }
  return range;
}

/// What a pack gains where the largest load k of its group falls by one unit.
std::array<double, kNumLoads> gains_of_a_unit(const Range& range, const AlikeRule& rule) {
  const std::array<double, kNumLoads> seconds = {
      rule.forward.per_vision_unit, rule.forward.per_token, rule.forward.per_token_pair};
  double largest_time = rule.forward.constant;
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    largest_time += seconds[k] * static_cast<double>(range.high[k]);
  }
  std::array<double, kNumLoads> gains{};
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    if (range.high[k] <= range.low[k]) continue;
    gains[k] = rule.weights.load[k] / static_cast<double>(range.high[k]);
    if (largest_time > 0) gains[k] += rule.weights.time * seconds[k] / largest_time;
  }
  return gains;
}

/// How many packs lie in each of kBins equal parts of the range of load k.
std::array<std::size_t, kBins> histogram(std::span<const LoadedPack> packs, std::size_t k,
                                         const Range& range) {
  std::array<std::size_t, kBins> bins{};
  const float low = range.low[k];
  const float bins_per_unit = static_cast<float>(kBins) / (range.high[k] - low);
  for (const LoadedPack& pack : packs) {
    const auto bin = static_cast<std::uint32_t>((pack.load[k] - low) * bins_per_unit);
    ++bins[std::min<std::size_t>(bin, kBins - 1)];
  }
  return bins;
}

}  // namespace

LoadSplit best_split(std::span<const LoadedPack> packs, const AlikeRule& rule) {
  const Range range = range_of(packs);
  const std::array<double, kNumLoads> gains = gains_of_a_unit(range, rule);
  LoadSplit best;
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    if (gains[k] <= 0) continue;
    const std::array<std::size_t, kBins> bins = histogram(packs, k, range);
    const double width = static_cast<double>(range.high[k]) - static_cast<double>(range.low[k]);
    std::size_t light = 0;
    for (std::size_t bin = 0; bin + 1 < kBins; ++bin) {
      light += bins[bin];
      const double below_high = width * static_cast<double>(kBins - 1 - bin) / kBins;
      const double gain = static_cast<double>(light) * below_high * gains[k];
      if (gain <= best.gain) continue;
      best = {k, static_cast<float>(static_cast<double>(range.high[k]) - below_high), light, gain};
    }
  }
  return best;
}

}  // namespace omnibal::steps
