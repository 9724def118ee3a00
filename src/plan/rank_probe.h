// SPDX-License-Identifier: Apache-2.0
//
// RankProbe: what recomputation in two steps (room recompute) asks about memory, for any schedule.
#pragma once

#include <span>
#include <vector>

#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/fullest.h"

namespace omnibal::plan {

/// How the ranks of a schedule hold micro-batches.
struct HeldByRanks {
  std::vector<std::int64_t> in_flight;       // by stage
  std::vector<RankIndex> stage_rank;         // empty: a stage a rank
  std::vector<schedule::RankMoments> ranks;  // empty: a stage a rank, backwards whole
};
HeldByRanks held_by_ranks(const schedule::Schedule& schedule);

/// Peak of a stage's rank. `layers` and `costs` must outlive it.
recompute::MemoryProbe memory_probe(const HeldByRanks& held,
                                    std::span<const recompute::BarLayer> layers,
                                    std::span<const cost::LayerCost> costs,
                                    const partition::Cuts& cuts);

}  // namespace omnibal::plan
