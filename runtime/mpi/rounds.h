// SPDX-License-Identifier: Apache-2.0
//
// Collectives as rounds of messages: all of a round's messages are under way together, and when the
// last has arrived, `then` does this rank's arithmetic. Made by hand from messages, because MPI's
// own reductions choose their order by size and number of ranks, and because a helper thread could
// start the parts of two of MPI's collectives in another order than a neighbour's.
//
//   std::vector<Round> rounds = collective_rounds(call, rank, size);
//   rounds[0].transfers[0].peer;   // rank in the group
//
// Not MPI: whatever moves bytes between two ranks can run them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/collective.h"

namespace omnibal::runtime {

struct Transfer {
  enum class Direction { kSend, kReceive };
  Direction direction;
  std::byte* data;  // not written when sent
  std::size_t bytes;
  int peer;
};

struct Round {
  std::vector<Transfer> transfers;
  std::function<void()> then;  // may be empty
};

/// Bytes that each rank sends: all_reduce 2 (n - 1) / n of the data, reduce_scatter and all_gather
/// (n - 1) parts, broadcast the data at most log2(n) times.
std::vector<Round> collective_rounds(const Collective& call, int rank, int size);

}  // namespace omnibal::runtime
