// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of this process: the backend that makes an eight-rank test run in a moment.
//
//   OMNIBAL_RETURN_IF_ERROR(run_thread_ranks(8, [](Communicator& world) -> Status {
//     return world.barrier().wait();
//   }));
//
// Not for speed on many cores: the last rank to arrive does a collective's work for all.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// A world of `num_ranks` communicators that talk to each other; [r] belongs to rank r's thread.
std::vector<std::unique_ptr<Communicator>> make_thread_world(int num_ranks);

/// Runs `body` once a rank, each in its own thread, until all have returned. The first rank that
/// returns an error or throws ends the waits of all others; its error is returned.
Status run_thread_ranks(int num_ranks, const std::function<Status(Communicator&)>& body);

}  // namespace omnibal::runtime
