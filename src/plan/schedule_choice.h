// SPDX-License-Identifier: Apache-2.0
//
// Cuts and recomputation of a plan for its schedule, beside those that the paper's rows need.
#pragma once

#include "plan/joint_choice.h"

namespace omnibal::plan {

/// The plan's packs through 1F1B with a stage a rank: in two steps, as the paper's rows have them,
/// and jointly.
struct OneFOneBChoices {
  PipelineChoice two_steps;   // everything recomputed where nothing fits, as in the first rows
  Result<JointChoice> joint;  // error: kMemoryInfeasible and others of choose_jointly

  /// Of the rows: as `two_steps` where nothing fits.
  PipelineChoice joint_row() const { return joint ? joint->pipeline : two_steps; }
};

/// `problem` is paper_problem's. Errors: those of cuts_by.
Result<OneFOneBChoices> one_f_one_b_choices(const PipelineProblem& problem, const Plan& plan);

/// Chooses `plan`'s cuts and recomputation for its schedule, and what follows from them: stages and
/// ranks. Where the schedule is 1F1B with a stage a rank, they are `choices`.
/// Errors: those of choose_jointly, check_host_memory.
Status choose_own(const PipelineProblem& problem, const OneFOneBChoices& choices, Plan& plan);

}  // namespace omnibal::plan
