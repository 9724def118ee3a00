// SPDX-License-Identifier: Apache-2.0
#include "cli/options/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cli/options/config_file.h"
#include "cli/options/flag_value.h"
#include "omnibal/base/nearest_name.h"

namespace omnibal::cli {
namespace {

/// Carries the Error of a flag through CLI11's exceptions.
struct FlagError : CLI::ParseError {
  explicit FlagError(omnibal::Error problem)
      : CLI::ParseError("FlagError", problem.message, CLI::ExitCodes::ValidationError),
        error(std::move(problem)) {}
  omnibal::Error error;
};

/// Names of the flags that the command line sets: the configuration file sets only others.
using GivenFlags = std::set<std::string>;

void declare(CLI::App& app, const Flag& flag, GivenFlags& given) {
  const auto store = [flag, &given](const CLI::results_t& words) {
    if (Status status = set_flag(flag, words); !status) throw FlagError(std::move(status).error());
    given.insert(flag.name);
    return true;
  };
  if (is_switch(flag)) {
    app.add_flag_callback(flag.name, [store] { store({"true"}); });
    return;
  }
  CLI::Option* option = app.add_option(flag.name, store, flag.help);
  if (takes_many(flag) && is_positional(flag)) {
    option->expected(0, 1 << 20)->allow_extra_args();
  } else if (takes_many(flag)) {
    option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

Error usage_error(const CLI::ParseError& problem, const std::string& command) {
  if (const auto* flag = dynamic_cast<const FlagError*>(&problem)) return flag->error;
  std::string message = problem.what();
  message = message.substr(0, message.find('\n'));
  return Error(ErrorCode::kInvalidArgument, message)
      .with_hint(fmt::format("see: omnibal {} --help", command));
}

/// The command that the first argument names.
Result<const Command*> find_command(const std::vector<std::string>& arguments,
                                    const std::vector<Command>& commands) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return &*found;
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  if (name.starts_with("-") || name.empty()) {
    return Error(ErrorCode::kUnknownCommand, "the command comes first")
        .with_hint("omnibal COMMAND INPUT... [flags]; see: omnibal --help");
  }
  return Error(ErrorCode::kUnknownCommand, fmt::format("there is no command \"{}\"", name))
      .with_hint(
          fmt::format("did you mean \"{}\"? see: omnibal --help", nearest_name(name, names)));
}

Result<GivenFlags> parse_command_line(const std::vector<std::string>& arguments,
                                      const Command& command, const std::vector<Flag>& flags) {
  GivenFlags given;
  CLI::App app;
  app.set_help_flag();
  for (const Flag& flag : flags) declare(app, flag, given);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));
  } catch (const CLI::ParseError& problem) {
    return usage_error(problem, command.name);
  }
  return given;
}

Status check_required(const Command& command, const GivenFlags& given) {
  for (const Flag& flag : command.flags) {
    if (!flag.required || given.contains(flag.name)) continue;
    return Error(ErrorCode::kInvalidArgument, fmt::format("{} is required", flag.name))
        .at_key(flag.name)
        .with_hint(fmt::format("see: omnibal {} --help", command.name));
  }
  return {};
}

}  // namespace

Result<const Command*> parse_arguments(const std::vector<std::string>& arguments,
                                       const std::vector<Command>& commands,
                                       CommonOptions& common) {
  OMNIBAL_ASSIGN(const Command* command, find_command(arguments, commands));
  const std::vector<Flag> of_all = common_flags(common);
  const std::vector<Flag> flags = joined({command->flags, of_all});
  OMNIBAL_ASSIGN(GivenFlags given, parse_command_line(arguments, *command, flags));
  if (!common.config.empty()) {
    OMNIBAL_ASSIGN(const std::vector<ConfigEntry> entries,
                   read_config(common.config, *command, commands, of_all));
    const GivenFlags typed = given;
    for (const ConfigEntry& entry : entries) {
      if (typed.contains(entry.flag)) continue;
      OMNIBAL_RETURN_IF_ERROR(
          set_flag(*std::ranges::find(flags, entry.flag, &Flag::name), entry.words));
      given.insert(entry.flag);
    }
  }
  OMNIBAL_RETURN_IF_ERROR(check_required(*command, given));
  return command;
}

}  // namespace omnibal::cli
