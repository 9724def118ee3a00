// SPDX-License-Identifier: Apache-2.0
//
// The backend that a test is linked with: threads of 1 to 8 ranks, or the processes of this mpirun.
//
//   for_each_world([](Communicator& world) -> Status { return world.barrier().wait(); });
//   if (can_run(4)) run_ranks(4, body);
//   // an error of any rank fails the test
//
// Not for tests in which a rank fails: they leave no world behind.
#pragma once

#include <functional>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

void for_each_world(const std::function<Status(Communicator&)>& body);

/// Whether the backend has a world of so many ranks. One rank there always is.
bool can_run(int num_ranks);
Status run_ranks(int num_ranks, const std::function<Status(Communicator&)>& body);

}  // namespace omnibal::runtime
