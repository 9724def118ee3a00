// SPDX-License-Identifier: Apache-2.0
//
// Where each stage can begin in plans that keep a path length and a stage time.
#pragma once

#include <vector>

#include "joint/cut_grid.h"
#include "joint/step_path.h"

namespace omnibal::joint {

/// [num_stages + 1]: layers at which stage s may begin (and stage s - 1 end), ascending; 0 for the
/// first, num_layers for the last. A stage without any: no plan is within.
using CutWindows = std::vector<std::vector<std::int32_t>>;

/// Contains every plan whose stages all pass `test`: as far as stages get from the front, and from
/// the back. O(p log n) tests.
CutWindows cut_windows(const CutGrid& grid, const StageTest& test);

bool any_empty(const CutWindows& windows);
/// Spans between neighbouring windows.
std::int64_t count_spans(const CutWindows& windows);

}  // namespace omnibal::joint
