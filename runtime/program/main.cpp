// SPDX-License-Identifier: Apache-2.0
//
// The program omnibal-train: a rank of a training, alone or as a process of mpirun.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <thread>

#include "omnibal/base/version.h"
#include "omnibal/codec/error_json.h"
#include "omnibal/runtime/mpi/mpi_ranks.h"
#include "omnibal/runtime/train/evaluate.h"
#include "omnibal/runtime/train/freed_memory.h"
#include "omnibal/runtime/train/profile.h"
#include "omnibal/runtime/train/train.h"
#include "program/arguments.h"
#include "program/mpirun.h"
#include "program/profile_answer.h"

namespace omnibal::runtime {
namespace {

volatile std::sig_atomic_t stop_asked = 0;

void ask_to_stop(int) { stop_asked = 1; }

/// What this rank does, as a line.
std::atomic<const char*> status_line = "had not begun\n";

/// mpirun ends the ranks that are left when one has died: a collective save would wait for ever.
void end_at_once(int) {
  constexpr std::string_view kText = "omnibal-train: ended by SIGTERM, nothing is saved; ";
  const char* const line = status_line;
  const bool told = write(STDERR_FILENO, kText.data(), kText.size()) > 0 &&
                    write(STDERR_FILENO, line, std::strlen(line)) > 0;
  _exit(told ? 128 + SIGTERM : 1);
}

void listen_to_signals() {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = ask_to_stop;
  sigaction(SIGUSR1, &action, nullptr);
  if (started_by_mpi()) action.sa_handler = end_at_once;
  sigaction(SIGTERM, &action, nullptr);
}

int print_error(const Error& error, bool as_json) {
  if (as_json) fmt::print("{}", codec::to_text(codec::error_json(error)));
  fmt::print(stderr, "{}", to_text(error));
  std::fflush(stdout);
  return error_code_info(error.code).exit_code;
}

codec::Json to_json(const TrainOutcome& outcome) {
  return {{"step", outcome.step},
          {"finished", outcome.finished},
          {"checkpoint", outcome.checkpoint},
          {"model", outcome.model}};
}

std::string to_text(const TrainOutcome& outcome) {
  std::string text =
      fmt::format("{} behind step {}\n", outcome.finished ? "finished" : "stopped", outcome.step);
  if (!outcome.checkpoint.empty()) text += fmt::format("checkpoint: {}\n", outcome.checkpoint);
  if (!outcome.model.empty()) text += fmt::format("model: {}\n", outcome.model);
  return text;
}

TrainCalls calls_of(const Arguments& arguments) {
  TrainCalls calls;
  calls.stop_asked = [] { return stop_asked != 0; };
  calls.on_status = [](const char* line) { status_line = line; };
  if (arguments.quiet) return calls;
  calls.on_step = [](const StepRow& row) { fmt::print(stderr, "{}\n", to_text(row)); };
  calls.on_note = [](const std::string& note) { fmt::print(stderr, "{}\n", note); };
  return calls;
}

/// What rank 0 prints in the end.
struct Answer {
  codec::Json json;
  std::string text;
};

Result<Answer> answer(const Arguments& arguments, Communicator& world) {
  OMNIBAL_ASSIGN(const TrainConfig config, read_config(arguments));
  if (arguments.work == Work::kProfile) {
    OMNIBAL_ASSIGN(const MeasuredProfile measured, measure_profile(config, world, arguments.out));
    return Answer{to_json(measured, arguments.out), to_text(measured, arguments.out)};
  }
  if (arguments.work == Work::kEvaluate) {
    OMNIBAL_ASSIGN(const Evaluation found, evaluate(config, world));
    const codec::Json json = to_json(found);
    return Answer{json, codec::to_text(json)};
  }
  OMNIBAL_ASSIGN(const TrainOutcome outcome, train(config, world, calls_of(arguments)));
  return Answer{to_json(outcome), to_text(outcome)};
}

void print_answer(const Answer& done, const Arguments& arguments, double seconds) {
  if (!arguments.json) {
    fmt::print("{}", done.text);
    return;
  }
  codec::Json all = {
      {"command", to_string(arguments.work)}, {"version", version()}, {"seconds", seconds}};
  all.update(done.json);
  fmt::print("{}", codec::to_text(all));
}

/// Rank 0 speaks for all: it hears of every rank's error.
int run_in(Communicator& world, const Arguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  const bool speaks = world.rank() == 0;
  const Result<Answer> done = answer(arguments, world);
  if (!done.ok()) {
    world.fail(done.error());
    if (speaks) return print_error(done.error(), arguments.json);
    if (world.rank() == 1 && done.error().message.starts_with("rank 0 ")) {
      return print_error(done.error(), false);  // it has died or is stuck: nobody else speaks
    }
    // Whoever ends first has mpirun end the others: rank 0 is to speak before.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return error_code_info(done.error().code).exit_code;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (speaks) print_answer(*done, arguments, seconds.count());
  return 0;
}

int run_rank(const Arguments& arguments) {
  const Result<std::unique_ptr<Communicator>> world = start_mpi();
  if (!world.ok()) return print_error(world.error(), arguments.json);
  const int code = run_in(**world, arguments);
  status_line = "ends\n";  // the board goes with the communicator
  return code;
}

int run(const std::vector<std::string>& words) {
  const Result<Arguments> arguments = parse_arguments(words);
  const bool json = std::ranges::find(words, "--json") != words.end();
  if (!arguments.ok()) return print_error(arguments.error(), json);
  if (arguments->help) {
    fmt::print("{}", usage());
    return 0;
  }
  if (arguments->version) {
    fmt::print("omnibal-train {}\n", version());
    return 0;
  }
  if (arguments->num_processes > 0 && !started_by_mpi()) {
    const Result<int> code = run_under_mpirun(arguments->num_processes, words);
    return code.ok() ? *code : print_error(code.error(), json);
  }
  listen_to_signals();
  return run_rank(*arguments);
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  omnibal::runtime::keep_freed_memory();
  try {
    return omnibal::runtime::run({argv + 1, argv + argc});
  } catch (const std::exception& problem) {
    std::fputs("omnibal-train: ", stderr);
    std::fputs(problem.what(), stderr);
    std::fputs("\n", stderr);
    return 1;
  }
}
