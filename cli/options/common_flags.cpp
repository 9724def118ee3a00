// SPDX-License-Identifier: Apache-2.0
#include "cli/options/common_flags.h"

namespace omnibal::cli {

std::vector<Flag> common_flags(CommonOptions& options) {
  return {
      {.name = "--json",
       .target = &options.json,
       .help = "Print one JSON object on stdout and nothing else there"},
      {.name = "--config",
       .target = &options.config,
       .help = "Read flags from a TOML file: one table a command, keys as the flags; the command "
               "line wins",
       .value_name = "FILE"},
      {.name = "--seed",
       .target = &options.seed,
       .help = "Seed of everything random; the same seed gives the same bytes",
       .value_name = "N",
       .min = 0},
      {.name = "--threads",
       .target = &options.threads,
       .help = "Threads to use, 0 for all; never changes a result",
       .value_name = "N",
       .min = 0,
       .max = 4096},
      {.name = "--quiet", .target = &options.quiet, .help = "No progress and no warnings"},
      {.name = "--verbose",
       .target = &options.verbose,
       .help = "Say on stderr what is done and how long it took"},
  };
}

}  // namespace omnibal::cli
