// SPDX-License-Identifier: Apache-2.0
//
// Command: one subcommand of the program. Its file declares the flags, calls the library and
// returns what came out; `main` prints it.
//
//   Command make_stats_command() {
//     auto options = std::make_shared<StatsOptions>();
//     return {.name = "stats", .summary = "Show ...", .flags = {{"INPUT", &options->inputs, ...}},
//             .run = [options](const Context& context) { return run_stats(*options, context); }};
//   }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/flag.h"
#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"

namespace omnibal::cli {

/// What every command gets: the common flags and a way to tell how far it is.
struct Context {
  std::uint64_t seed = 0;
  int threads = 0;    // 0: all
  bool json = false;  // --json: standard output is for the answer
  Progress progress;
  /// Prints one line to stderr unless --quiet: a warning that does not stop the work.
  std::function<void(const std::string&)> warn;
  /// Prints to stderr unless --quiet: an answer where standard output carries something else.
  std::function<void(const std::string&)> note;
};

/// What a command has to say: `json` for --json (without command, version and seconds, which
/// main adds), `text` for people.
struct Output {
  codec::Json json = codec::Json::object();
  std::string text;
  int exit_code = 0;
};

struct Command {
  std::string name;
  std::string summary;      // one line of `omnibal --help`
  std::string description;  // a paragraph of `omnibal NAME --help`
  std::string example;      // command lines, one a line
  std::vector<Flag> flags;
  std::function<Result<Output>(const Context&)> run;
};

/// Every file cli/commands/<name>.cpp defines `Command make_<name>_command()`; the build lists them
/// (cli/CMakeLists.txt), in the order of `omnibal --help`.
std::vector<Command> all_commands();

}  // namespace omnibal::cli
