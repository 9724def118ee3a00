// SPDX-License-Identifier: Apache-2.0
//
// The path program: cuts and recomputation whose step path (step_path.h) is shortest, and the next
// best ones.
//
// Dynamic program from the last stage to the first. A label of (stage, begin) is what the stages
// from there on mean for those before (PathTail); the path of the whole rises with each part of it,
// so a label that another beats in all of them is never needed for the best. Dominated ones are
// kept only as runners-up.
#pragma once

#include <vector>

#include "joint/cut_grid.h"
#include "joint/stage_model.h"
#include "joint/step_path.h"

namespace omnibal::joint {

struct PathQuery {
  Ticks most_path = kNever - 1;  // plans whose path is longer are not wanted
  Ticks most_busy = kNever - 1;  // nor those with a slower stage
  std::int32_t count = 8;        // how many plans
};

struct LeastPaths {
  std::vector<StageEnds> plans;  // shortest path first
  /// No plan within the query has a shorter path; above query.most_path if there is none.
  Ticks bound = 0;
};

/// Where the query leaves more work than kMostEffort, most_path is lowered until it does not.
LeastPaths least_paths(const CutGrid& grid, StageModel& model, const StepPath& path,
                       const PathQuery& query);
/// The same once for every end that the first stage can have. Where early stages have longer
/// forwards than later ones (frozen layers), this bounds better: longest_before is then known.
/// bound 0: too much work, not done.
LeastPaths least_paths_by_first_stage(const CutGrid& grid, StageModel& model, const StepPath& path,
                                      const PathQuery& query);
inline constexpr std::int64_t kMostEffort = 300'000;

}  // namespace omnibal::joint
