// SPDX-License-Identifier: Apache-2.0
//
// The least bottleneck: cuts and recomputation whose slowest stage is fastest.
#pragma once

#include <optional>

#include "joint/cut_grid.h"
#include "joint/stage_model.h"

namespace omnibal::joint {

struct LeastBottleneck {
  StageEnds ends;
  Bounds bottleneck;  // lower == upper: proven
};

/// Exact unless a stage's knapsack was cut off. Bisection over ticks; a feasible step jumps to the
/// bottleneck that it found, an infeasible one to the first time at which one of the stages that
/// blocked it would pass. No value: nothing fits into memory.
std::optional<LeastBottleneck> least_bottleneck(const CutGrid& grid, StageModel& model);

/// Busy time of the slowest stage.
Ticks bottleneck_of(const StageEnds& ends, StageModel& model);

}  // namespace omnibal::joint
