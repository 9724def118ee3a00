// SPDX-License-Identifier: Apache-2.0
//
// Packs sorted by vision class, and which of them have to meet other classes. Inside room steps
// only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/metrics/loads.h"
#include "steps/loaded_pack.h"

namespace omnibal::steps {

/// Packs of one class behind the other, fewest vision units first, each class in the order in
/// which its packs came.
struct VisionClasses {
  std::vector<LoadedPack> packs;
  std::vector<std::size_t> ends;  // of each class
  bool first_is_idle = false;     // packs of the first class have no vision units at all
};

/// A class: packs whose vision units are equal in their first nine bits, so that counts up to 511
/// are told apart and larger ones differ by less than 0.4 %. O(packs).
VisionClasses classify(std::span<const std::uint32_t> order,
                       std::span<const metrics::PackLoad> loads);

/// Moves `count` packs of a class to its end, the others keep their order: those whose tokens and
/// attention are nearest to `typical`, so that groups which mix classes differ in little else.
/// O(packs); 4 bytes a pack.
void most_typical_last(std::span<LoadedPack> packs, std::size_t count, const LoadedPack& typical,
                       const AlikeRule& rule);

/// The median of each load over the first packs of `order`.
LoadedPack typical_pack(std::span<const std::uint32_t> order,
                        std::span<const metrics::PackLoad> loads);

/// Of packs that groups of `size` in order of vision units are to be made of: moves the
/// |packs| mod size whose absence lets those groups differ least in vision units to the end. The
/// least over all choices (a dynamic program over groups made x packs left out). O(n log n).
void least_matching_last(std::vector<LoadedPack>& packs, std::size_t size);

}  // namespace omnibal::steps
