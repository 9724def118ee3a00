// SPDX-License-Identifier: Apache-2.0
//
// Communicators over NCCL: the buffers of all calls are memory of this rank's device.
//
//   OMNIBAL_ASSIGN(std::unique_ptr<Communicator> hosts, start_mpi());
//   OMNIBAL_ASSIGN(const auto world, make_nccl(std::move(hosts), local_rank));
//   OMNIBAL_RETURN_IF_ERROR(world->all_reduce(gradients, count, Element::kBf16, sum).wait());
//
// Not as exact as the other backends: NCCL chooses the order of a sum by size and topology, and
// folds bf16 in steps; a barrier is the hosts' and waits for no device. Tags are not looked at: the
// messages from one rank to another match in their order. Built with -DOMNIBAL_NCCL=ON alone.
#pragma once

#include <memory>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// `hosts` has the same ranks on the host; through it they agree on NCCL's identifiers, and it
/// carries failures. Collective over it. Errors: kInternal with NCCL's or CUDA's own text.
Result<std::unique_ptr<Communicator>> make_nccl(std::unique_ptr<Communicator> hosts, int device);

}  // namespace omnibal::runtime
