// SPDX-License-Identifier: Apache-2.0
//
// The program omnibal: dispatches to one file a subcommand in cli/commands/ and prints what the
// command returns.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include "cli/command.h"
#include "cli/options/help.h"
#include "cli/options/parser.h"
#include "cli/progress_bar.h"
#include "omnibal/base/version.h"
#include "omnibal/codec/error_json.h"

namespace omnibal::cli {
namespace {

bool has(const std::vector<std::string>& arguments, std::string_view word) {
  return std::ranges::find(arguments, word) != arguments.end();
}

int print_error(const Error& error, bool as_json) {
  clear_progress_bar();
  if (as_json) fmt::print("{}", codec::to_text(codec::error_json(error)));
  fmt::print(stderr, "{}", to_text(error));
  return error_code_info(error.code).exit_code;
}

Context make_context(const CommonOptions& common) {
  auto log = spdlog::stderr_color_mt("omnibal");
  log->set_pattern("%^%l%$: %v");
  log->set_level(common.quiet ? spdlog::level::err : spdlog::level::info);
  return {.seed = static_cast<std::uint64_t>(common.seed),
          .threads = static_cast<int>(common.threads),
          .json = common.json,
          .progress = make_progress_bar(common.quiet, common.verbose),
          .warn =
              [log](const std::string& line) {
                clear_progress_bar();
                log->warn("{}", line);
              },
          .note =
              [quiet = common.quiet](const std::string& text) {
                clear_progress_bar();
                if (!quiet) fmt::print(stderr, "{}", text);
              }};
}

/// Lower rooms name a value as files do ("chunks"); typed, it is the flag's.
Error with_flag_name(Error error, const Command& command) {
  if (error.code != ErrorCode::kInvalidArgument || !error.where.file.empty()) return error;
  std::string name = "--" + error.where.key;
  std::ranges::replace(name, '_', '-');
  if (std::ranges::find(command.flags, name, &Flag::name) == command.flags.end()) return error;
  return std::move(error).at_key(name);
}

int run(const Command& command, const CommonOptions& common) {
  const auto began = std::chrono::steady_clock::now();
  Result<Output> output = command.run(make_context(common));
  if (!output) return print_error(with_flag_name(output.error(), command), common.json);
  clear_progress_bar();
  if (!common.json) {
    fmt::print("{}", output->text);
    return output->exit_code;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  codec::Json document = {
      {"command", command.name}, {"version", version()}, {"seconds", seconds.count()}};
  document.update(output->json);
  fmt::print("{}", codec::to_text(document));
  return output->exit_code;
}

/// `omnibal X` runs omnibal-X if there is such a program, beside this one or on the PATH; returns
/// only if there is none.
void run_external(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.front() = "omnibal-" + words.front();
  if (words.front().find('/') != std::string::npos) return;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv((self.parent_path() / words.front()).c_str(), pointers.data());
  execvp(pointers.front(), pointers.data());
}

/// What is answered without a command: help, version, completion. -1: nothing of these.
int answer_about_itself(const std::vector<std::string>& arguments,
                        const std::vector<Command>& commands) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  const auto named = std::ranges::find(commands, first, &Command::name);
  if (named != commands.end() && (has(arguments, "--help") || has(arguments, "-h"))) {
    fmt::print("{}", help_page(*named));
    return 0;
  }
  if (first == "help" && arguments.size() > 1) {
    return answer_about_itself({arguments[1], "--help"}, commands);
  }
  if (first == "--help" || first == "-h" || first == "help") {
    fmt::print("{}", overview(commands));
    return arguments.empty() ? 2 : 0;
  }
  if (has(arguments, "--version")) {
    fmt::print("omnibal {}\n", version());
    return 0;
  }
  if (first == "reference") {
    fmt::print("{}", markdown_reference(commands));
    return 0;
  }
  if (first == "completion") {
    const std::string script =
        completion_script(arguments.size() > 1 ? arguments[1] : "", commands);
    fmt::print("{}", script);
    if (!script.empty()) return 0;
    return print_error(Error(ErrorCode::kInvalidArgument, "completion takes bash, zsh or fish"),
                       has(arguments, "--json"));
  }
  return -1;
}

/// Commands that are programs of their own, and where those come from.
std::optional<Error> external_missing(const std::string& command) {
  const bool built = command == "train";
  if (!built && command != "scan" && command != "tensorboard") return std::nullopt;
  return Error(
             ErrorCode::kUnknownCommand,
             fmt::format("omnibal {0} is the program omnibal-{0}, which is neither beside this one "
                         "nor on the PATH",
                         command))
      .with_hint(built ? "./dev runtime builds it: build/runtime/bin"
                       : "it comes with the Python package: pip install ./python");
}

int run_program(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = all_commands();
  if (const int code = answer_about_itself(arguments, commands); code >= 0) return code;
  CommonOptions common;
  const Result<const Command*> command = parse_arguments(arguments, commands, common);
  if (command) return run(**command, common);
  std::optional<Error> missing;
  if (command.error().code == ErrorCode::kUnknownCommand) {
    run_external(arguments);
    missing = external_missing(arguments.front());
  }
  return print_error(missing.value_or(command.error()), common.json || has(arguments, "--json"));
}

}  // namespace
}  // namespace omnibal::cli

int main(int argc, char** argv) {
  using omnibal::Error;
  using omnibal::ErrorCode;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    const int code = omnibal::cli::run_program(arguments);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    return omnibal::cli::print_error(
        Error(ErrorCode::kWriteFailed, "standard output cannot be written"), false);
  } catch (const std::system_error& problem) {  // fmt::print on a full or closed output
    return omnibal::cli::print_error(
        Error(ErrorCode::kWriteFailed,
              fmt::format("standard output cannot be written: {}", problem.what())),
        false);
  } catch (const std::bad_alloc&) {
    return omnibal::cli::print_error(
        Error(ErrorCode::kInternal, "there is not enough memory for this")
            .with_hint("use smaller inputs or sizes, or a machine with more memory"),
        omnibal::cli::has(arguments, "--json"));
  } catch (const std::exception& problem) {
    return omnibal::cli::print_error(
        Error(ErrorCode::kInternal, fmt::format("unexpected failure: {}", problem.what()))
            .with_hint("report it with the command line that led here"),
        omnibal::cli::has(arguments, "--json"));
  }
}
