// SPDX-License-Identifier: Apache-2.0
//
// The ablation that explains a plan: the paper's four rows, each adding one balance, then what goes
// beyond the paper. Links cost nothing in any row.
#pragma once

#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/plan/planner.h"
#include "pipeline_choice.h"

namespace omnibal::plan {

/// Packs with a pipeline of 1F1B, a stage a rank, as the paper has it.
struct AblationTask {
  const corpus::Corpus& corpus;
  const Plan& plan;
  const PipelineProblem& problem;
  const PipelineChoice& two_steps;  // cuts by BMP, then recomputation by BAR, for the plan's packs
  const steps::StepTable* dealt = nullptr;  // the plan's steps before micro-batches were ordered
};

/// What the plan does beyond the paper.
struct OwnPipeline {
  const PipelineProblem& problem;  // with the plan's schedule
  const PipelineChoice& joint;     // of 1F1B, cuts and recomputation together
};

/// baseline: random padded micro-batches, stages of even parameters, everything recomputed;
/// +data: the packs of `paper` in random order; +model: cuts by BMP; +memory: recomputation by BAR.
/// Then of `task`, if that is another, +packs: its packs in random order, likewise in two steps;
/// +joint: cuts and recomputation together; +schedule, if the plan's is not 1F1B: the plan's
/// schedule with its own cuts and recomputation; +steps: its steps as `dealt`; +order: its steps.
Result<std::vector<AblationRow>> make_ablation(const AblationTask& paper, const AblationTask& task,
                                               const OwnPipeline& own, const Progress& progress);

}  // namespace omnibal::plan
