// SPDX-License-Identifier: Apache-2.0
//
// What no plan on ranks is below.
#pragma once

#include <vector>

#include "joint/rank_starts.h"

namespace omnibal::joint {

struct PlanBounds {
  Bounds bottleneck;
  Ticks path = 0;
};

/// The mean of the ranks, and the heaviest layer.
Ticks simple_bottleneck(const RankSearch& search);

/// A step is at least as long as each rank is busy behind the layers that must have passed before
/// it, so at least the mean over the ranks; rank r has r stages before it, of a layer or more.
Ticks simple_path(const RankSearch& search);

/// From all cuts: exact, but for recomputation in a path (the least of a rank need not be the best
/// for the step) and searches that were cut off, which do without.
PlanBounds bounds_of(const RankSearch& search, const std::vector<StageEnds>& all);

}  // namespace omnibal::joint
