// SPDX-License-Identifier: Apache-2.0
#include "cli/options/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

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

void declare(CLI::App& app, const Flag& flag) {
  const auto store = [flag](const CLI::results_t& words) {
    if (Status status = set_flag(flag, words); !status) throw FlagError(std::move(status).error());
    return true;
  };
  if (is_switch(flag)) {
    app.add_flag_callback(flag.name, [store] { store({"true"}); });
    return;
  }
  CLI::Option* option = app.add_option(flag.name, store, flag.help);
  option->required(flag.required);
  if (takes_many(flag) && is_positional(flag)) {
    option->expected(flag.required ? 1 : 0, 1 << 20)->allow_extra_args();
  } else if (takes_many(flag)) {
    option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

Error usage_error(const CLI::ParseError& problem, const std::string& command) {
  if (const auto* flag = dynamic_cast<const FlagError*>(&problem)) return flag->error;
  std::string message = problem.what();
  message = message.substr(0, message.find('\n'));
  return Error(ErrorCode::kInvalidArgument, message)
      .with_hint(fmt::format("see: omnibal {}{}--help", command, command.empty() ? "" : " "));
}

Error unknown_command(const std::string& name, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return Error(ErrorCode::kUnknownCommand, fmt::format("there is no command \"{}\"", name))
      .with_hint(
          fmt::format("did you mean \"{}\"? see: omnibal --help", nearest_name(name, names)));
}

}  // namespace

Result<const Command*> parse_arguments(const std::vector<std::string>& arguments,
                                       const std::vector<Command>& commands,
                                       CommonOptions& common) {
  CLI::App app;
  app.set_help_flag();
  app.allow_config_extras(CLI::config_extras_mode::error);
  for (const Flag& flag : common_flags(common)) {
    if (flag.name != "--config") declare(app, flag);
  }
  app.set_config("--config")->check(CLI::ExistingFile);
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name)->fallthrough();
    sub->set_help_flag();
    for (const Flag& flag : command.flags) declare(*sub, flag);
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  const auto named = std::ranges::find(commands, first, &Command::name);
  if (named == commands.end() && !first.starts_with("-")) return unknown_command(first, commands);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& problem) {
    return usage_error(problem, named == commands.end() ? "" : first);
  }
  if (app.get_subcommands().size() != 1) {
    return Error(ErrorCode::kUnknownCommand, "a command is missing")
        .with_hint("see: omnibal --help");
  }
  return &*std::ranges::find(commands, app.get_subcommands().front()->get_name(), &Command::name);
}

}  // namespace omnibal::cli
