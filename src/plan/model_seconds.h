// SPDX-License-Identifier: Apache-2.0
//
// What a model costs with sizes, before any cut: for the planner and the search of its sizes.
#pragma once

#include "omnibal/base/result.h"
#include "omnibal/cost/profile.h"
#include "omnibal/plan/planner.h"

namespace omnibal::plan {

/// The profile that was given, or the analytic one; collectives of tensor parallelism take time
/// unless links are free. Errors: kInvalidArgument (a profile of another model), those of
/// analytic_profile.
Result<cost::Profile> profile_for(const model::ModelSpec& model,
                                  const cluster::ClusterSpec& cluster, const PlanRequest& request,
                                  const cluster::ParallelSizes& sizes);

/// Forward and backward seconds of one device for `load`, summed over all layers.
double useful_seconds(const cost::Profile& profile, const cost::Load& load);

}  // namespace omnibal::plan
