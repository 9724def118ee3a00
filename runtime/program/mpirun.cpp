// SPDX-License-Identifier: Apache-2.0
#include "program/mpirun.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

namespace omnibal::runtime {
namespace {

constexpr int kCannotStart = 127;

std::atomic<bool> asked_to_stop = false;

void remember_to_stop(int) { asked_to_stop = true; }

/// Until mpirun ends. Asks it to stop again and again: it hands signals on only once its ranks run.
int wait_for(pid_t child) {
  constexpr std::chrono::milliseconds kLook{50};
  constexpr int kLooksBetweenAsking = 20;
  int status = 0;
  for (int look = 0; waitpid(child, &status, WNOHANG) == 0; ++look) {
    if (asked_to_stop && look % kLooksBetweenAsking == 0) kill(child, SIGUSR1);
    std::this_thread::sleep_for(kLook);
  }
  return status;
}

std::vector<std::string> command_line(std::int64_t num_processes,
                                      const std::vector<std::string>& words) {
  std::vector<std::string> all = {"mpirun", "-np", fmt::format("{}", num_processes)};
  if (num_processes > static_cast<std::int64_t>(std::thread::hardware_concurrency())) {
    for (const char* word :
         {"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"}) {
      all.emplace_back(word);
    }
  }
  all.push_back(std::filesystem::read_symlink("/proc/self/exe"));
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

[[noreturn]] void become(std::vector<std::string> words) {
  if (geteuid() == 0) {  // as in containers; Open MPI asks for both
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers.front(), pointers.data());
  _exit(kCannotStart);
}

}  // namespace

Result<int> run_under_mpirun(std::int64_t num_processes, const std::vector<std::string>& words) {
  const std::vector<std::string> command = command_line(num_processes, words);
  struct sigaction action = {};
  action.sa_handler = remember_to_stop;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaction(signal, &action, nullptr);
  const pid_t started = fork();
  if (started == 0) {
    for (const int signal : {SIGTERM, SIGINT}) ::signal(signal, SIG_DFL);
    ::signal(SIGUSR1, SIG_IGN);  // by ranks too, until they listen
    setpgid(0, 0);               // an interrupt of the terminal comes through this process alone
    become(command);
  }
  if (started < 0) {
    return Error(ErrorCode::kInternal,
                 "mpirun cannot be started: " + std::generic_category().message(errno));
  }
  const int status = wait_for(started);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code != kCannotStart) return code;
  return Error(ErrorCode::kInternal, "mpirun cannot be started")
      .with_hint("install Open MPI, or start omnibal-train with your cluster's launcher");
}

}  // namespace omnibal::runtime
