// SPDX-License-Identifier: Apache-2.0
//
// A proven lower bound on the number of packs: no packing of these samples under these caps has
// fewer.
//
//   const int64_t bound = pack_lower_bound(samples, placed, {.vision_units = 9, .tokens = 4096});
//   const double gap = double(packs.size()) / double(bound) - 1;
//
// Not tight in general: a bound of several arguments, each of which sees a part of what is scarce.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/metrics/loads.h"
#include "omnibal/metrics/occupancy.h"

namespace omnibal::metrics {

/// The largest of: samples over the cap on samples; for vision units and tokens each, the bound L2
/// of Martello and Toth (Discrete Applied Mathematics 28, 1990), which contains ceil(total / cap);
/// samples of which no pack holds two, with those that fit beside none of them (matching); and the
/// weights of a dual solution of the pattern program (Gilmore and Gomory, 1961), rounded so that
/// they prove it (docs/methods/packing.md, "Metrics"). `members` are corpus indices, each within
/// the caps. O(members + caps), and about 0.05 s for the program.
std::int64_t pack_lower_bound(const SampleColumns& samples, std::span<const std::uint32_t> members,
                              const PackCaps& caps);

}  // namespace omnibal::metrics
