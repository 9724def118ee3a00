// SPDX-License-Identifier: Apache-2.0
//
// The command line and the --config file, parsed into the flags' targets by CLI11.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options/common_flags.h"

namespace omnibal::cli {

/// Parses `arguments` (without the program's name) and returns the command that they name, its
/// flags set. Error: kInvalidArgument, kUnknownCommand.
Result<const Command*> parse_arguments(const std::vector<std::string>& arguments,
                                       const std::vector<Command>& commands, CommonOptions& common);

}  // namespace omnibal::cli
