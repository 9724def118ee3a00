// SPDX-License-Identifier: Apache-2.0
//
// Cuts a set of packs into groups whose members have nearly the same loads and predicted time.
// Inside room steps only.
#pragma once

#include <cstddef>
#include <span>

#include "steps/loaded_pack.h"

namespace omnibal::steps {

/// Reorders `packs` so that each run of `size` is a group; only the last may hold fewer, and it
/// takes the lightest. A k-d tree: the set is cut at a multiple of `size` where best_split says,
/// over and over, no part smaller than an eighth. The groups and their order depend on the set
/// alone. O(n log n).
void group_alike(std::span<LoadedPack> packs, std::size_t size, const AlikeRule& rule);

}  // namespace omnibal::steps
