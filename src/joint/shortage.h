// SPDX-License-Identifier: Apache-2.0
//
// What is missing where nothing fits into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "joint/cut_grid.h"
#include "joint/stage_model.h"

namespace omnibal::joint {

struct LeastLimit {
  std::int64_t bytes = 0;
  std::int32_t stage = 0;  // that needs all of it
};

/// Least peak of a stage; does not rise when the stage loses a layer at either end.
using StagePeak = std::function<std::int64_t(const StageSpan&)>;

/// Under which these stages fit.
LeastLimit largest_peak(const std::vector<StageSpan>& spans, const StagePeak& peak);

/// The cuts whose largest peak is least. Exact: bisection over the limit, each step the exact
/// search for cuts that fit.
StageEnds least_full_cuts(const CutGrid& grid, const StagePeak& peak);

/// Under which any cuts fit; the model's own limit plays no part.
LeastLimit least_limit(const CutGrid& grid, const StageModel& model);

/// "the best cuts and recomputation", or what of both the problem leaves to choose.
enum class Chosen { kCuts, kCutsFound, kGivenCuts };
std::string what_is_chosen(const JointProblem& problem, Chosen chosen);
/// Hint: what else would help, where no layer may recompute.
std::string more_recomputation(const JointProblem& problem);

/// kMemoryInfeasible: the stage, what it misses at best, and the smallest changes that would do:
/// the least limit, and the least number of stages if there is one up to four times as many.
Error does_not_fit(const JointProblem& problem, const LeastLimit& least, Chosen chosen);

}  // namespace omnibal::joint
