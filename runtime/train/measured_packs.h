// SPDX-License-Identifier: Apache-2.0
//
// Which packs of a plan are measured: few that stand for all.
//
//   for (const std::int64_t pack : representative_packs(plan.pack_loads(), 8)) {
//     OMNIBAL_ASSIGN(const PackArrays whole, source.load(pack));
//     const PackArrays part = leading_samples(whole, 2, image_token, 256);   // another load
//
// Not random: the same for the same plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/metrics/loads.h"
#include "omnibal/runtime/data/pack_source.h"

namespace omnibal::runtime {

/// At most `count` packs that are not empty, ascending: spread evenly over the order by token
/// pairs and over that by vision units, the ends of both among them. O(packs log packs).
std::vector<std::int64_t> representative_packs(std::span<const metrics::PackLoad> loads,
                                               std::size_t count);

/// The first `count` samples of a pack, with their tiles. `unit_tokens`: image tokens of a tile.
PackArrays leading_samples(const PackArrays& pack, std::size_t count, std::int64_t image_token,
                           std::int64_t unit_tokens);

}  // namespace omnibal::runtime
