// SPDX-License-Identifier: Apache-2.0
//
// Packs by patterns: a linear program over levels of size says which ways of filling a pack to use
// how often, and samples are drawn and matched accordingly.
//
//   const Packs packs = pack_patterns(samples, admitted.accepted, limits, seed);
//   packs.view()[0];     // corpus indices of the first pack
//   metrics::packed_loads(packs.view(), samples);
//
// Not for a few hundred samples: the program's fractions are rounded down, and what is left is
// placed by best fit.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Works on counts, as best_fit.h; floors and rounds are not used. A cap on the samples of a pack
/// is respected but not planned for. O(samples + pivots of the program), about 0.05 s for the
/// latter; 16 bytes a sample.
Packs pack_patterns(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                    const PackLimits& limits, std::uint64_t seed);

}  // namespace omnibal::pack
