// SPDX-License-Identifier: Apache-2.0
//
// One choice of sizes and schedule predicted: what size_search.cpp ranks.
#pragma once

#include "omnibal/plan/size_search.h"

namespace omnibal::plan {

/// What is asked about caps when packs are padded for `tp` devices.
CapQuestion caps_asked(const SizeTask& task, std::int64_t tp);

/// What a candidate is of.
struct RunShape {
  cluster::ParallelSizes sizes;
  ScheduleSpec schedule;
};

/// The profile that a plan of this shape has. Errors: those of analytic_profile.
Result<TrainingTarget> target_of(const SizeTask& task, const RunShape& shape);

/// With caps near the corpus's own ratio of tokens to vision units and few samples: tens of
/// milliseconds. Errors: those of target_of, limit_problem; kMemoryInfeasible, kTooManyStages.
Result<SizeCandidate> predict_quickly(const SizeTask& task, const RunShape& shape);

/// With caps chosen as a plan chooses them: seconds. Same errors.
Result<SizeCandidate> predict_in_full(const SizeTask& task, const RunShape& shape);

/// Says of each why it wins or loses: the part of the devices' time in which it and the best differ
/// most.
void explain(std::vector<SizeCandidate>& ranked);

}  // namespace omnibal::plan
