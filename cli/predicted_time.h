// SPDX-License-Identifier: Apache-2.0
//
// The predicted time of a pack where no cluster is asked for: forward seconds of all layers of a
// model on one a100-80g, as a function of the pack's load. Imbalances are ratios of it, so that
// the device matters little.
#pragma once

#include <string>

#include "omnibal/base/result.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cli {

/// The model of the paper's ablation.
inline constexpr const char* kDefaultModel = "internvl-chat-1.5-26b";

/// Errors: those of load_model and analytic_profile.
Result<cost::LinearCost> predicted_forward(const std::string& model_name);

}  // namespace omnibal::cli
