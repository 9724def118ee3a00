// SPDX-License-Identifier: Apache-2.0
//
// Why the cuts of an answer stand where they stand.
#pragma once

#include <vector>

#include "joint/plan_pool.h"

namespace omnibal::joint {

/// What becomes of `plan` if one of its cuts moves by a layer. Two evaluations a cut.
std::vector<CutReason> cut_reasons(const SearchSetting& setting, PlanModel& model,
                                   const JudgedPlan& plan);

/// Of a plan that no search has chosen, `least` what is known of the least bottleneck of any.
Certificate certificate_of(const SearchSetting& setting, PlanModel& model, const Bounds& least,
                           const StageEnds& ends, const LayerChoices& choices);

}  // namespace omnibal::joint
