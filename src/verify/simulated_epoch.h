// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "omnibal/plan/epoch.h"
#include "omnibal/plan/plan_directory.h"

namespace omnibal::verify {

/// Every step of the plan simulated again through `pipeline`: the mean. The first violation if
/// packs or steps are not such that the result means anything.
Result<double> mean_step_seconds(const plan::PlanReader& plan, const plan::StepPipeline& pipeline,
                                 int threads);

}  // namespace omnibal::verify
