// SPDX-License-Identifier: Apache-2.0
//
// What the stages of cuts and the ranks that run them take and hold, the same load in every
// micro-batch.
//
//   const RankedStages ranked = ranked_stages(schedule, profile, full_pack, cuts, recompute);
//   ranked.ranks[2].peak_bytes;     // of all stages of rank 2 together, as the schedule runs
//
// Not for choosing: thousands of cuts a second need the rooms joint and recompute.
#pragma once

#include <vector>

#include "omnibal/cost/profile.h"
#include "omnibal/metrics/stages.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::simulate {

/// Peaks are replayed from the action lists (stage_memory.h): a stage's as if its rank ran no
/// other.
struct RankedStages {
  std::vector<metrics::StageSummary> stages;
  std::vector<metrics::RankSummary> ranks;
};

/// O(stages x micro-batches + layers).
RankedStages ranked_stages(const schedule::Schedule& schedule, const cost::Profile& profile,
                           const cost::Load& load, const partition::Cuts& cuts,
                           const recompute::RecomputeMask& recompute);

}  // namespace omnibal::simulate
