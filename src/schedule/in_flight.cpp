// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

std::int64_t in_flight(const Schedule& schedule, StageIndex stage) {
  const RankIndex rank = schedule.stage_rank[static_cast<std::size_t>(stage.value())];
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const Action& action : schedule.ranks[static_cast<std::size_t>(rank.value())]) {
    if (action.stage != stage) continue;
    if (action.kind == ActionKind::kForward) most = std::max(most, ++held);
    if (action.kind == ActionKind::kBackward) --held;
  }
  return most;
}

std::vector<std::int64_t> in_flight(const Schedule& schedule) {
  std::vector<std::int64_t> of_stage;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    of_stage.push_back(in_flight(schedule, StageIndex{stage}));
  }
  return of_stage;
}

}  // namespace omnibal::schedule
