// SPDX-License-Identifier: Apache-2.0
//
// Fullest: the moments at which a rank holds most micro-batches of its stages. What a rank needs
// in memory is the most over these few, whatever its stages keep of a micro-batch.
//
//   const std::vector<RankMoments> ranks = fullest_moments(schedule);
//   ranks[0].stages;                      // stages 0 and 4
//   ranks[0].moments[0].held[1].for_backward;  // of stage 4, then
//
// Not for bytes (room joint, simulate/stage_memory.h) and not for micro-batches of different loads.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

/// Micro-batches of a stage.
struct HeldMicroBatches {
  std::int32_t for_backward = 0;  // from the forward to the end of the backward
  /// From the end of a split backward to that of the weight gradient: a layer that recomputes holds
  /// its whole activation again.
  std::int32_t for_weight_grad = 0;

  friend bool operator==(const HeldMicroBatches&, const HeldMicroBatches&) = default;
};

inline constexpr std::int32_t kNothingRuns = -1;

struct FullMoment {
  /// Index into `stages` of the one whose forward or backward runs, or kNothingRuns: what
  /// recomputation brings back for a moment comes on top.
  std::int32_t running = kNothingRuns;
  std::vector<HeldMicroBatches> held;  // by stage of the rank
};

struct RankMoments {
  std::vector<StageIndex> stages;   // that the rank runs, ascending
  std::vector<FullMoment> moments;  // in order of time; none that another is as full as
};

/// By rank, from the lists alone. O(actions x moments kept).
std::vector<RankMoments> fullest_moments(const Schedule& schedule);

}  // namespace omnibal::schedule
