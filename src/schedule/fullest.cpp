// SPDX-License-Identifier: Apache-2.0
#include "omnibal/schedule/fullest.h"

#include <algorithm>

namespace omnibal::schedule {
namespace {

/// Whether a rank never holds more at `one` than at `other`.
bool is_within(const FullMoment& one, const FullMoment& other) {
  if (one.running != kNothingRuns && one.running != other.running) return false;
  for (std::size_t s = 0; s < one.held.size(); ++s) {
    if (one.held[s].for_backward > other.held[s].for_backward) return false;
    if (one.held[s].for_weight_grad > other.held[s].for_weight_grad) return false;
  }
  return true;
}

/// Replays the list of one rank.
class MomentReplay {
 public:
  MomentReplay(RankMoments& rank, bool splits)
      : rank_(rank), splits_(splits), now_{kNothingRuns, {}} {
    now_.held.resize(rank.stages.size());
  }

  void replay(const Action& action) {
    const auto place = std::ranges::find(rank_.stages, action.stage) - rank_.stages.begin();
    HeldMicroBatches& held = now_.held[static_cast<std::size_t>(place)];
    now_.running = static_cast<std::int32_t>(place);
    if (action.kind == ActionKind::kForward) {
      ++held.for_backward;
      note();
    } else if (action.kind == ActionKind::kBackward) {
      note();
      --held.for_backward;
      if (!splits_) return;
      ++held.for_weight_grad;
      now_.running = kNothingRuns;
      note();
    } else if (action.kind == ActionKind::kWeightGrad) {
      --held.for_weight_grad;
    }
  }

 private:
  void note() {
    const auto is_beaten = [&](const FullMoment& other) { return is_within(now_, other); };
    if (std::ranges::any_of(rank_.moments, is_beaten)) return;
    std::erase_if(rank_.moments, [&](const FullMoment& other) { return is_within(other, now_); });
    rank_.moments.push_back(now_);
  }

  RankMoments& rank_;
  bool splits_;
  FullMoment now_;
};

}  // namespace

std::vector<RankMoments> fullest_moments(const Schedule& schedule) {
  std::vector<RankMoments> ranks(schedule.ranks.size());
  for (std::int32_t s = 0; s < schedule.num_stages; ++s) {
    for (const RankIndex rank : ranks_of(schedule, StageIndex{s})) {
      ranks[static_cast<std::size_t>(rank.value())].stages.push_back(StageIndex{s});
    }
  }
  const bool splits = has_weight_grads(schedule);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    MomentReplay replay(ranks[r], splits);
    for (const Action& action : schedule.ranks[r]) replay.replay(action);
  }
  return ranks;
}

}  // namespace omnibal::schedule
