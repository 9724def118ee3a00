// SPDX-License-Identifier: Apache-2.0
//
// How the layers of a stage spare memory, in words.
//
//   recomputed_text(stage, choices, named);   // "3 of 12, 4 mlp"
//
// Not for what it costs: metrics/stages.h.
#pragma once

#include <string>
#include <vector>

#include "omnibal/cost/recompute_choices.h"
#include "omnibal/metrics/stages.h"

namespace omnibal::cli {

/// How many layers recompute all of themselves, and how many take each named choice.
std::string recomputed_text(const metrics::StageSummary& stage, const cost::LayerChoices& choices,
                            const std::vector<cost::NamedChoice>& named);

}  // namespace omnibal::cli
