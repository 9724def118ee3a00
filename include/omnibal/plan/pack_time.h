// SPDX-License-Identifier: Apache-2.0
//
// How long packs take once they are dealt into steps: what pack_auto chooses by.
//
//   const pack::PackEvaluator time = step_time_of_packs(kUsualSteps, forward);
//   time(loads);     // seconds, summed over the groups of packs that run at the same time
//
// Not the time of an epoch: no pipeline, no communication (plan/epoch.h).
#pragma once

#include "omnibal/cost/profile.h"
#include "omnibal/pack/auto.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// What packs are judged by, whatever steps are asked for: packs do not depend on dp, so that
/// another number of ranks forms other steps of the same packs.
inline constexpr steps::StepOptions kUsualSteps{.dp = 8};

/// Forms steps with the sizes, window, seed and epoch of `options` (incomplete steps filled with
/// zero-weight packs, so that no pack goes uncounted) and adds up the largest forward time of each
/// group of dp packs. O(packs log packs).
pack::PackEvaluator step_time_of_packs(const steps::StepOptions& options,
                                       const cost::LinearCost& forward);

}  // namespace omnibal::plan
