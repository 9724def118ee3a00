// SPDX-License-Identifier: Apache-2.0
//
// What Communicator::split means, said once for all backends: who asks for which group.
//
//   OMNIBAL_ASSIGN(const SplitGroup mine, split_group(communicator, color, key));
//   mine.members[mine.rank] == communicator.rank();
//   mine.largest_note;   // of all ranks of the parent
//
// Not the new communicator: each backend makes its own.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

struct SplitGroup {
  int rank = 0;
  std::vector<int> members;  // ranks of the parent, by rank in the group
  std::int64_t largest_note = 0;
};

/// Collective over the parent. `note`: a number of this rank; all learn the largest.
Result<SplitGroup> split_group(Communicator& parent, int color, int key, std::int64_t note = 0);

}  // namespace omnibal::runtime
