// SPDX-License-Identifier: Apache-2.0
//
// Where to cut a set of packs in two so that groups made of either half wait least for their
// heaviest member. Inside room steps only.
#pragma once

#include <cstddef>
#include <span>

#include "steps/loaded_pack.h"

namespace omnibal::steps {

struct LoadSplit {
  std::size_t load = 0;   // the load that is cut across
  float at = 0;           // packs below it are the light half
  std::size_t light = 0;  // how many those are
  double gain = 0;        // 0: all packs are equal
};

/// The groups of a region wait for its largest loads. Cutting it across load k at x lowers the
/// largest load k of the light packs from max_k to x, and with it their largest time: they wait
/// light x (max_k - x) x (w_k / max_k + w_time c_k / time_max) less. The cut with the largest such
/// gain, of 31 equally spaced ones a load. Depends on the set alone, not on its order. O(packs).
LoadSplit best_split(std::span<const LoadedPack> packs, const AlikeRule& rule);

}  // namespace omnibal::steps
