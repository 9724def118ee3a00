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

struct AblationTask {
  const corpus::Corpus& corpus;
  const Plan& plan;
  const PipelineProblem& problem;
};

/// baseline: random padded micro-batches, stages of even parameters, everything recomputed;
/// +data: the plan's packs in random order; +model: the plan's cuts; +memory: the plan's
/// recomputation; +steps: the plan's steps.
Result<std::vector<AblationRow>> make_ablation(const AblationTask& task, const Progress& progress);

/// The paper's four rows of `paper`, the same samples with the paper's packer and caps; then of
/// `task` +packs: its packs in random order with its cuts and recomputation; +steps: its steps.
Result<std::vector<AblationRow>> make_ablation(const AblationTask& paper, const AblationTask& task,
                                               const Progress& progress);

}  // namespace omnibal::plan
