// SPDX-License-Identifier: Apache-2.0
//
// ISF, iterative sampling and filtering: the paper's packer (arXiv 2407.20761, section on balanced
// dynamic mini-batches).
//
//   const Packs packs = pack_isf(samples, admitted.accepted, limits, seed, progress);
//   packs.view()[0];     // corpus indices of the first pack
//   metrics::packed_loads(packs.view(), samples);
//
// Not the best packer where the vision cap binds: more rounds then use up the small partners that
// large samples need (docs/methods/packing.md).
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/base/progress.h"
#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Rounds 1 .. T - 1 shuffle the pool, fill groups in order until the next sample would pass a
/// cap, and keep the groups that reach a floor (or max_samples); the rest returns to the pool.
/// Round T shuffles what is left and keeps every group. Ends early once the pool is empty.
/// Each accepted sample is in exactly one pack; the result depends on the arguments alone.
/// `accepted` comes from admit() with the same limits. O(pool) a round, 16 bytes a sample.
Packs pack_isf(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
               const PackLimits& limits, std::uint64_t seed, const Progress& progress = {});

}  // namespace omnibal::pack
