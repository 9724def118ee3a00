// SPDX-License-Identifier: Apache-2.0
//
// The action lists of one rank, a function a kind of schedule, and what they are built from.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

/// Which rank of how many, with how many micro-batches.
struct RankPlace {
  std::int32_t num_ranks = 1;
  std::int32_t rank = 0;
  std::int32_t num_micro_batches = 1;
};

std::vector<Action> gpipe_list(const RankPlace& place);
std::vector<Action> one_f_one_b_list(const RankPlace& place);
std::vector<Action> interleaved_list(const RankPlace& place, std::int32_t chunks);
std::vector<Action> zb_h1_list(const RankPlace& place);
std::vector<Action> zb_v_list(const RankPlace& place);

inline Action action_of(ActionKind kind, std::int32_t stage, std::int32_t micro_batch) {
  return {kind, StageIndex{stage}, MicroBatchIndex{micro_batch}};
}

}  // namespace omnibal::schedule
