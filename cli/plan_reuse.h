// SPDX-License-Identifier: Apache-2.0
//
// --reuse of the commands that write a plan: a plan of the same inputs and options is kept.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "omnibal/plan/provenance.h"

namespace omnibal::cli {

/// --reuse. Bound to `reuse`.
Flag reuse_flag(bool* reuse);

/// What the plan in `directory` says, once verified; nothing if there is no plan yet. Errors:
/// kInvalidArgument (no directory), kStalePlan (of other inputs or options), kInvalidPlan (it does
/// not hold), those of reading it.
Result<std::optional<Output>> keep_plan(const std::string& directory,
                                        const plan::Provenance& provenance, const Context& context);

}  // namespace omnibal::cli
