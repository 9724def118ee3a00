// SPDX-License-Identifier: Apache-2.0
// failing_rank error | exit | sleep: the last rank fails in that way while all others wait for it.
// Prints what each waiting rank is told; exit code 3 where a wait ended with an error.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "omnibal/runtime/mpi/mpi_ranks.h"

namespace omnibal::runtime {
namespace {

Status run(Communicator& world, const std::string& way) {
  world.limit_waits({.longest = std::chrono::seconds(way == "sleep" ? 1 : 20), .interruption = {}});
  OMNIBAL_RETURN_IF_ERROR(world.barrier().wait());
  if (world.rank() == world.size() - 1) {
    if (way == "exit") std::_Exit(9);
    if (way == "sleep") std::this_thread::sleep_for(std::chrono::seconds(3));
    if (way == "error") return Error(ErrorCode::kOutOfRange, "this rank has had enough");
  }
  float value = 1;
  return world.all_reduce(&value, 1, Element::kF32, Reduction::kSum).wait();
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  auto world = omnibal::runtime::start_mpi();
  if (argc != 2 || !world.ok()) return 1;
  const omnibal::Status status = omnibal::runtime::run(**world, argv[1]);
  if (status.ok()) return 0;
  (*world)->fail(status.error());
  std::printf("rank %d is told: %s, code %d\n", (*world)->rank(), status.error().message.c_str(),
              omnibal::error_code_info(status.error().code).exit_code);
  std::fflush(stdout);
  // Whoever ends first has mpirun end the others.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return 3;
}
