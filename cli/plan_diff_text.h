// SPDX-License-Identifier: Apache-2.0
//
// `plan --diff`: the other plan, and what this one does otherwise.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "omnibal/base/result.h"

namespace omnibal::cli {

Flag diff_flag(std::string* directory);

/// Members of the other plan's document; nothing if no directory is given. Errors: those of
/// PlanReader::open.
Result<std::optional<codec::Json>> read_other(const std::string& directory);

/// Adds `diff` and its table to what a plan prints.
void add_diff(const std::string& directory, const codec::Json& other, Output& output);

}  // namespace omnibal::cli
