// SPDX-License-Identifier: Apache-2.0
//
// If no pack can hold samples that weigh more than K together, at least (weight of all) / K packs
// are needed, whatever the weights.
//
//   const int64_t bound = weight_bound(sizes, caps);
//   weight_bound({{5, 1000, 18935, 0}, {3, 800, 4806, 1}}, {.vision_units = 12, .tokens = 4096});
//
// Inside room metrics only. The weights come from the linear program of patterns, rounded to whole
// numbers; K from a knapsack over whole numbers, which is what makes the bound a proof.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/size_levels.h"

namespace omnibal::metrics {

/// Sizes count as the low end of their level. Reorders `sizes`. O(sizes) and a few milliseconds.
std::int64_t weight_bound(std::span<SizedCount> sizes, const PackCaps& caps);

}  // namespace omnibal::metrics
