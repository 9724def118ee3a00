// SPDX-License-Identifier: Apache-2.0
//
// The cases of a plan's sensitivity: vision and language layers, each a tenth slower and faster.
#pragma once

#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/plan/epoch.h"
#include "omnibal/plan/planner.h"
#include "plan/pipeline_choice.h"

namespace omnibal::plan {

/// `pipeline` is the plan's own; its links and the kind of its end serve every case. A part that no
/// layer of the profile has is left out. Errors: those of choose_jointly. O(4 choices and 8
/// epochs).
Result<std::vector<SensitivityCase>> sensitivity_of(const Plan& plan,
                                                    const PipelineProblem& problem,
                                                    const StepPipeline& pipeline);

}  // namespace omnibal::plan
