// SPDX-License-Identifier: Apache-2.0
//
// The stage models of a problem: one that chooses freely, or one for each number that a restricted
// recomputation may take.
#pragma once

#include <memory>
#include <vector>

#include "joint/stage_model.h"

namespace omnibal::joint {

TickScale tick_scale(const JointProblem& problem);

/// A plan may follow any of them. The problem's layers and the tables must outlive them.
std::vector<std::unique_ptr<StageModel>> stage_models(const JointProblem& problem,
                                                      const StageTables& tables,
                                                      const TickScale& scale);

}  // namespace omnibal::joint
