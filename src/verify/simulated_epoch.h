// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "omnibal/plan/epoch.h"
#include "omnibal/plan/plan_directory.h"

namespace omnibal::verify {

/// Every step of the plan simulated again through `pipeline` (of plan::read_pipeline, which has
/// checked ids and loads): the mean.
double mean_step_seconds(const plan::PlanReader& plan, const plan::StepPipeline& pipeline,
                         int threads);

}  // namespace omnibal::verify
