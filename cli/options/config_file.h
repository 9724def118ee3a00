// SPDX-License-Identifier: Apache-2.0
//
// The file of --config: TOML, one table a command, keys as the flags without dashes. Flags of
// every command stand at the top or in a command's table, which wins.
//
//   seed = 5
//   [pack]
//   vision-cap = 9
//
// Read by toml++ rather than by CLI11, whose own parser takes tables twice and names no line.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "omnibal/base/result.h"

namespace omnibal::cli {

/// One flag that the file sets.
struct ConfigEntry {
  std::string flag;  // "--vision-cap"
  std::vector<std::string> words;
};

/// What concerns `command`, in order of precedence: later entries win. Tables of other commands are
/// checked all the same. Errors: kFileNotFound, kFileUnreadable, kMalformedToml; kInvalidArgument
/// for a table that is no command, a key that is no flag (with the nearest name) or a nested value.
Result<std::vector<ConfigEntry>> read_config(const std::string& path, const Command& command,
                                             const std::vector<Command>& commands,
                                             const std::vector<Flag>& common);

}  // namespace omnibal::cli
