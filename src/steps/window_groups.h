// SPDX-License-Identifier: Apache-2.0
//
// Groups of alike packs out of packs in random order, with a bounded number of them waiting.
// Inside room steps only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "steps/loaded_pack.h"

namespace omnibal::steps {

struct GroupShape {
  std::size_t size = 1;    // packs of a group: dp
  std::size_t window = 0;  // groups whose packs may wait at a time; 0: no limit
};

/// Appends the ids of `packs`, group by group, to `groups`; only the last may be incomplete. Packs
/// that fit into a window are grouped together (group_alike). Of more, each waits in its region of
/// the loads until a group's worth has met there; a full window gives up the group that is
/// nearest to complete; what still waits at the end is grouped together. Overwrites `packs`;
/// 4 bytes a pack beside it. O(n log n).
void group_in_windows(std::span<LoadedPack> packs, const GroupShape& shape, const AlikeRule& rule,
                      std::vector<std::int64_t>& groups);

}  // namespace omnibal::steps
