// SPDX-License-Identifier: Apache-2.0
// The tests in each process of an mpirun.
#include <gtest/gtest.h>

#include <cstdio>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/mpi/mpi_ranks.h"
#include "runtime/comm/ranks_under_test.h"

namespace omnibal::runtime {
namespace {

Communicator* world_of_the_process = nullptr;

}  // namespace

void for_each_world(const std::function<Status(Communicator&)>& body) {
  const Status status = body(*world_of_the_process);
  EXPECT_TRUE(status.ok()) << to_text(status.error());
}

bool can_run(int num_ranks) { return num_ranks == 1 || num_ranks == world_of_the_process->size(); }

Status run_ranks(int num_ranks, const std::function<Status(Communicator&)>& body) {
  return num_ranks == 1 ? run_thread_ranks(1, body) : body(*world_of_the_process);
}

}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto world = omnibal::runtime::start_mpi();
  if (!world.ok()) {
    std::fputs(to_text(world.error()).c_str(), stderr);
    return 1;
  }
  (*world)->limit_waits({.longest = std::chrono::seconds(60), .interruption = {}});
  omnibal::runtime::world_of_the_process = world->get();
  return RUN_ALL_TESTS();
}
