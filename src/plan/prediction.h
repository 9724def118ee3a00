// SPDX-License-Identifier: Apache-2.0
//
// What a plan promises, from its own steps, stages and links.
#pragma once

#include "omnibal/base/result.h"
#include "omnibal/plan/epoch.h"
#include "omnibal/plan/planner.h"
#include "pipeline_choice.h"

namespace omnibal::plan {

/// How a step ends with a distributed optimizer; empty where that cannot be timed (the rate of the
/// memory or the parameters are not known).
Result<simulate::StepEnd> timed_end(const simulate::StepEndCase& step);

/// The plan's stages, links and, where it can be timed, end of the step, ready to be simulated.
Result<StepPipeline> predicted_pipeline(const PipelineProblem& problem, const Plan& plan);

/// Fills `plan.prediction` and `plan.bound_gpu_days`; everything else of `plan` must be chosen.
Status predict(const corpus::Corpus& corpus, const model::ModelSpec& model,
               const PipelineProblem& problem, const StepPipeline& pipeline, Plan& plan);

}  // namespace omnibal::plan
