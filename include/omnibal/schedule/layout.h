// SPDX-License-Identifier: Apache-2.0
//
// Layouts other than one pipeline: the vision tower as a stage of its own whose micro-batches are
// spread over ranks, those of the language pipeline or others.
//
//   OMNIBAL_ASSIGN(Schedule language, make_schedule(ScheduleKind::kOneFOneB, 4, 32));
//   const Schedule s = with_vision_stage(language, {VisionPlace::kNested});   // 5 stages, 4 ranks
//   rank_of(s, StageIndex{0}, MicroBatchIndex{6});                            // 2
//
// Not for a tower whose layers are pipeline layers: that is make_schedule alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

/// Where and when the vision stage runs.
enum class VisionPlace {
  kBefore,  // colocated: all forwards before the language pipeline, all backwards behind it
  kNested,  // colocated: a round of one micro-batch a rank at a time, between pipeline actions
  kApart    // disjoint: on ranks of its own
};
std::string_view to_string(VisionPlace place);  // "before", "nested", "apart"
std::vector<std::string> vision_places();
/// Error: kInvalidArgument, naming the places there are.
Result<VisionPlace> parse_vision_place(std::string_view text);

struct VisionStage {
  VisionPlace place = VisionPlace::kNested;
  std::int32_t num_ranks = 1;  // of kApart, behind those of the language pipeline; each has work
};

/// `language` with a vision stage in front: its stages count from 1. Colocated, micro-batch m's
/// vision runs on rank m % ranks. A split schedule runs the vision stage's weight gradient directly
/// behind its backward.
///
/// kNested: ranks pause together. With times of 1 a forward and 2 a backward, round j
/// (micro-batches j x ranks to (j + 1) x ranks - 1) runs forward when the language pipeline's first
/// stage takes up its first micro-batch, and backward with the first later round, when its
/// gradients are there; the last rounds as soon as they are. So the pipeline stays in step, where
/// vision on one rank at a time would make all others wait. A rank holds about three micro-batches.
///
/// kApart: rank i of q runs micro-batches m with m % q == i, as many forwards ahead of its
/// backwards as let the first stage behind hold what its schedule has in flight. q is at most the
/// number of micro-batches.
Schedule with_vision_stage(const Schedule& language, const VisionStage& vision);

}  // namespace omnibal::schedule
