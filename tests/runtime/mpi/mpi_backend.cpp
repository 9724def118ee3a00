// SPDX-License-Identifier: Apache-2.0
// The suite of communicator_test.cpp in each process of an mpirun.
#include <gtest/gtest.h>

#include <cstdio>

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
