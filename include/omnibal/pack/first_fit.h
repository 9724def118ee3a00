// SPDX-License-Identifier: Apache-2.0
//
// First fit decreasing, the usual baseline: the longest sample first, into the pack that was opened
// first among those that still hold it.
//
//   const Packs packs = pack_first_fit(samples, admitted.accepted, limits, seed);
//   packs.view()[0];     // corpus indices of the first pack
//   metrics::packed_loads(packs.view(), samples);
//
// Not aware of vision units but for their cap: samples are ordered by tokens alone.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Works on counts, as best_fit.h; floors and rounds are not used. The seed decides which of equal
/// samples meet, and the order of the packs. O(samples + steps x (rows + log steps)) with a few
/// steps a class and at most 64 rows, one for each number of vision units left; above a vision cap
/// of 63 units share rows, and a pack that would just fit may be overlooked.
Packs pack_first_fit(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                     const PackLimits& limits, std::uint64_t seed);

}  // namespace omnibal::pack
