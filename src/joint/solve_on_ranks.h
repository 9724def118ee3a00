// SPDX-License-Identifier: Apache-2.0
//
// The joint program for every schedule but GPipe and 1F1B: memory and time are those of ranks that
// run several stages, or split their backwards. The questions of joint.h, answered by a search with
// bounds (docs/methods/joint.md).
#pragma once

#include "omnibal/joint/joint.h"

namespace omnibal::joint {

/// As joint::solve, after its checks.
Result<JointAnswer> solve_on_ranks(const JointProblem& problem, const JointOptions& options,
                                   const Evaluator& evaluate);
/// As joint::choose_recomputation; the cuts are checked.
Result<LayerChoices> choose_on_ranks(const JointProblem& problem, const partition::Cuts& cuts);

/// As joint::certify, after its checks.
Result<Certificate> certify_on_ranks(const JointProblem& problem, const partition::Cuts& cuts,
                                     const LayerChoices& choices, const Evaluator& evaluate);

}  // namespace omnibal::joint
