// SPDX-License-Identifier: Apache-2.0
//
// What a model costs with sizes, before any cut: for the planner and the search of its sizes.
#pragma once

#include "omnibal/base/result.h"
#include "omnibal/cost/profile.h"
#include "omnibal/plan/planner.h"
#include "omnibal/plan/time_shares.h"

namespace omnibal::plan {

/// The profile that was given, or the analytic one; collectives of tensor parallelism take time
/// unless links are free. Errors: kInvalidArgument (a profile of another model), those of
/// analytic_profile.
Result<cost::Profile> profile_for(const model::ModelSpec& model,
                                  const cluster::ClusterSpec& cluster, const PlanRequest& request,
                                  const cluster::ParallelSizes& sizes);

/// What trains together, of `profile` and the same one without tensor-parallel collectives.
struct ProfiledRun {
  const model::ModelSpec& model;
  const cluster::ClusterSpec& cluster;
  std::int64_t tp = 1;
  const cost::Profile& profile;
  const cost::Profile& without_links;
};
/// once, split and busy seconds of `load`; all and recompute stay 0. Errors: those of
/// analytic_profile.
Result<DeviceSeconds> device_seconds(const ProfiledRun& run, const cost::Load& load);

/// Forward and backward seconds of one device for `load`, summed over all layers.
double useful_seconds(const cost::Profile& profile, const cost::Load& load);

/// The same of the tp devices that share every layer, in days, of packs with these loads in sum:
/// nobody idle, nothing recomputed.
double bound_gpu_days(const cost::Profile& profile, const cost::Load& sum, std::int64_t num_packs,
                      std::int64_t tp);

}  // namespace omnibal::plan
