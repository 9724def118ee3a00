// SPDX-License-Identifier: Apache-2.0
//
// Best fit decreasing in two resources: the largest sample first, into the fullest pack that still
// holds it.
//
//   const Packs packs = pack_best_fit(samples, admitted.accepted, limits, seed);
//   packs.view()[0];     // corpus indices of the first pack
//   metrics::packed_loads(packs.view(), samples);
//
// Not the best packer where tokens bind: the large samples pair up before the small ones could
// fill the room beside them (docs/methods/packing.md).
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// The fewer packs of two orders of size. Works on counts: samples of equal length are one class
/// and packs of equal content one group, so that it takes O(samples) plus a few steps a class.
/// Floors and rounds are not used. The seed decides which of equal samples meet, and the order of
/// the packs. `accepted` comes from admit() with the same limits. 16 bytes a sample.
Packs pack_best_fit(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                    const PackLimits& limits, std::uint64_t seed);

}  // namespace omnibal::pack
