// SPDX-License-Identifier: Apache-2.0
//
// The backend that communicator_test.cpp is linked with: threads of 1 to 8 ranks, or the processes
// of this mpirun.
//
//   for_each_world([](Communicator& world) -> Status { return world.barrier().wait(); });
//   // an error of any rank fails the test
//
// Not for tests in which a rank fails: they leave no world behind.
#pragma once

#include <functional>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

void for_each_world(const std::function<Status(Communicator&)>& body);

}  // namespace omnibal::runtime
