// SPDX-License-Identifier: Apache-2.0
//
// The model and memory part of a plan beyond the paper: cuts and recomputation chosen together
// (room joint), seconds at the mean pack, bytes at a full one, judged by steps that the plan runs.
#pragma once

#include <optional>

#include "omnibal/base/result.h"
#include "omnibal/joint/joint.h"
#include "omnibal/plan/planner.h"
#include "plan/pipeline_choice.h"

namespace omnibal::plan {

struct JointChoice {
  PipelineChoice pipeline;
  PlanCertificate certificate;
};

/// At least as fast as `start` (cuts and recomputation in two steps, if those fit) in a few of the
/// plan's own steps, evenly drawn, links as in its prediction. Where it is `start` itself, the
/// certificate gives no reasons for its cuts. Same errors as choose_pipeline.
Result<JointChoice> choose_jointly(const PipelineProblem& problem, const Plan& plan,
                                   const std::optional<PipelineChoice>& start);

}  // namespace omnibal::plan
