// SPDX-License-Identifier: Apache-2.0
//
// How far a plan is from the best, and why its cuts stand where they stand.
#pragma once

#include "joint/plan_pool.h"

namespace omnibal::joint {

/// Of a plan beside what is known of the least bottleneck of any; makespan_bound_s stays 0. Two
/// evaluations a cut, moved by a layer to either side.
Certificate certificate_of(const SearchSetting& setting, PlanModel& model, const Bounds& least,
                           const JudgedPlan& plan);

/// Of a plan that no search has chosen: its own bottleneck bounds the least one too.
Certificate certificate_of(const SearchSetting& setting, PlanModel& model, Bounds least,
                           const StageEnds& ends, const LayerChoices& choices);

}  // namespace omnibal::joint
