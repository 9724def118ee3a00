// SPDX-License-Identifier: Apache-2.0
//
// What pairs can do at best: of samples above half the vision cap no two share a pack, nor do two
// above half the token cap, so packs = samples of either kind less the pairs of one of each.
//
//   const int64_t bound = matching_bound(sizes, caps);
//   matching_bound({{9, 96, 10, 0}, {1, 4000, 10, 1}}, {.vision_units = 9, .tokens = 4096});  // 20
//
// Inside room metrics only; not a bound for small samples, which it does not count.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/size_levels.h"

namespace omnibal::metrics {

/// Exact for the samples it counts: the largest matching under both caps. O(sizes log sizes).
std::int64_t matching_bound(std::span<const SizedCount> sizes, const PackCaps& caps);

}  // namespace omnibal::metrics
