// SPDX-License-Identifier: Apache-2.0
//
// `omnibal simulate --zero3`: a step of a profile without a pipeline, states sharded over all
// ranks.
#pragma once

#include "cli/command.h"
#include "cli/simulate_subject.h"

namespace omnibal::cli {

/// Errors: flags of a pipeline; those of reading a profile, of simulate_zero3.
Result<Output> simulate_zero3_step(const SimulateFlags& flags);

}  // namespace omnibal::cli
