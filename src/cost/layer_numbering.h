// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// kMissingLayer if numbered names have a gap, kDuplicateName if a name stands twice. A numbered
/// name ends in ".N"; "vision.N" and "llm.N" count from 0, other names from 0 or 1.
/// O(layers log layers).
Status check_layer_names(const std::vector<LayerProfile>& layers);

}  // namespace omnibal::cost
