// SPDX-License-Identifier: Apache-2.0
//
// Cuts a set of packs into groups whose members have nearly the same load in several respects at
// once. Inside room steps only.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace omnibal::steps {

/// Vision units, tokens, token pairs.
inline constexpr std::size_t kNumLoads = 3;

struct LoadedPack {
  std::array<std::int64_t, kNumLoads> load{};
  std::int64_t pack = 0;
};

/// Reorders `packs` so that each run of `size` is a group; only the last may hold fewer, and it
/// takes the lightest. A k-d tree: the set is halved at a multiple of `size` across the load with
/// the widest relative range, over and over, so that no load is balanced at the cost of another.
/// The groups and their order depend on the set alone. O(n log n).
void group_alike(std::span<LoadedPack> packs, std::size_t size);

/// Reorders whole groups of `size`, those with the most alike members first. O(n log n).
void most_alike_first(std::span<LoadedPack> groups, std::size_t size);

}  // namespace omnibal::steps
