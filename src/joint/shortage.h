// SPDX-License-Identifier: Apache-2.0
//
// What is missing where nothing fits into memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "joint/cut_grid.h"
#include "joint/stage_model.h"

namespace omnibal::joint {

struct LeastLimit {
  std::int64_t bytes = 0;
  std::int32_t stage = 0;  // that needs all of it
};

/// Under which these stages fit.
LeastLimit largest_peak(const std::vector<StageSpan>& spans, const StageModel& model);

/// Under which any cuts fit.
/// Exact: bisection over the limit, each step the exact search for cuts that fit. The model's own
/// limit plays no part.
LeastLimit least_limit(const CutGrid& grid, const StageModel& model);

/// kMemoryInfeasible: the stage, what it misses at best, and the smallest changes that would do:
/// the least limit, and the least number of stages if there is one up to four times as many.
/// `at_best` says what the least limit is the best of: "with the best cuts and recomputation".
Error does_not_fit(const JointProblem& problem, const LeastLimit& least, std::string_view at_best);

}  // namespace omnibal::joint
