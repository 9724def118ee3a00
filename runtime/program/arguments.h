// SPDX-License-Identifier: Apache-2.0
//
// The command line of omnibal-train: a file, and every key of it as a flag.
//
//   OMNIBAL_ASSIGN(const Arguments arguments, parse_arguments({"--config", "train.toml",
//   "--np=2"})); OMNIBAL_ASSIGN(const TrainConfig config, read_config(arguments)); usage(); // what
//   --help prints
//
// Not the other commands of omnibal: those are cli/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "omnibal/runtime/train_config/train_config.h"

namespace omnibal::runtime {

/// The first word, if it is one of "evaluate" and "profile".
enum class Work { kTrain, kEvaluate, kProfile };
std::string_view to_string(Work work);

struct Arguments {
  Work work = Work::kTrain;
  std::string config;                                     // empty: flags alone
  std::vector<std::pair<std::string, std::string>> keys;  // "optimizer.lr", "2e-5"
  std::int64_t num_processes = 0;                         // 0: as it was started
  std::string out;                                        // of kProfile alone, which needs it
  bool json = false;
  bool quiet = false;
  bool help = false;
  bool version = false;
};

/// Errors: kInvalidArgument (no such flag, with the nearest; a flag without its value; --np is no
/// number; a profile without --out, --out without a profile).
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

/// Errors: those of read_toml, override_key and parse_train_config.
Result<TrainConfig> read_config(const Arguments& arguments);

std::string usage();

}  // namespace omnibal::runtime
