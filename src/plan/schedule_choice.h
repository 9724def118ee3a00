// SPDX-License-Identifier: Apache-2.0
//
// Cuts and recomputation of a plan for its schedule, beside those that the paper's rows need.
#pragma once

#include "plan/joint_choice.h"

namespace omnibal::plan {

/// The plan's packs through 1F1B with a stage a rank: in two steps, as the paper's rows have them,
/// and jointly.
struct OneFOneBChoices {
  PipelineChoice two_steps;
  JointChoice joint;
};

/// Rows that do not fit, where the plan's own schedule does, recompute everything, as the first
/// rows do whether they fit or not. `problem` is paper_problem's. Errors: those of cuts_by.
Result<OneFOneBChoices> one_f_one_b_choices(const PipelineProblem& problem, const Plan& plan);

/// Chooses `plan`'s cuts and recomputation for its schedule, and what follows from them: stages,
/// ranks and certificate. Where the schedule is 1F1B with a stage a rank, they are `choices`.
/// Errors: those of choose_jointly; kMemoryInfeasible.
Status choose_own(const PipelineProblem& problem, const OneFOneBChoices& choices, Plan& plan);

}  // namespace omnibal::plan
