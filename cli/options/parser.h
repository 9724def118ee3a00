// SPDX-License-Identifier: Apache-2.0
//
// The command line (by CLI11) and the --config file, parsed into the flags' targets. What is typed
// wins over what the file says.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options/common_flags.h"

namespace omnibal::cli {

/// Parses `arguments` (without the program's name) and returns the command that they name, its
/// flags set. Errors: kInvalidArgument, kUnknownCommand; those of read_config.
Result<const Command*> parse_arguments(const std::vector<std::string>& arguments,
                                       const std::vector<Command>& commands, CommonOptions& common);

}  // namespace omnibal::cli
