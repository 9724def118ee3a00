// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedule/action_table.h"

namespace omnibal::schedule {
namespace {

Action of(ActionKind kind, std::int32_t stage, const Action& like) {
  return {kind, StageIndex{stage}, like.micro_batch};
}

/// Whether the micro-batch of `action` stays on its rank between its stage and stage `other`.
bool same_rank(const Schedule& schedule, const Action& action, std::int32_t other) {
  return rank_of(schedule, action.stage, action.micro_batch) ==
         rank_of(schedule, StageIndex{other}, action.micro_batch);
}

}  // namespace

std::optional<Action> waits_for(const Schedule& schedule, const Action& action, bool lowered) {
  const std::int32_t stage = action.stage.value();
  const std::int32_t last = schedule.num_stages - 1;
  switch (action.kind) {
    case ActionKind::kForward:
      if (stage == 0) return std::nullopt;
      if (lowered && !same_rank(schedule, action, stage - 1)) {
        return of(ActionKind::kReceiveActivation, stage, action);
      }
      return of(ActionKind::kForward, stage - 1, action);
    case ActionKind::kBackward:
      if (stage == last) return of(ActionKind::kForward, stage, action);
      if (lowered && !same_rank(schedule, action, stage + 1)) {
        return of(ActionKind::kReceiveGradient, stage, action);
      }
      return of(ActionKind::kBackward, stage + 1, action);
    case ActionKind::kWeightGrad:
      return of(ActionKind::kBackward, stage, action);
    case ActionKind::kSendActivation:
      return of(ActionKind::kForward, stage, action);
    case ActionKind::kSendGradient:
      return of(ActionKind::kBackward, stage, action);
    case ActionKind::kReceiveActivation:
      return of(ActionKind::kSendActivation, stage - 1, action);
    case ActionKind::kReceiveGradient:
      return of(ActionKind::kSendGradient, stage + 1, action);
  }
  return std::nullopt;
}

bool has_transfers(const Schedule& schedule) {
  return std::any_of(schedule.ranks.begin(), schedule.ranks.end(), [](const auto& actions) {
    return std::any_of(actions.begin(), actions.end(),
                       [](const Action& action) { return !is_compute(action.kind); });
  });
}

std::vector<ActionPosition> execution_order(const Schedule& schedule) {
  const bool lowered = has_transfers(schedule);
  ActionTable done(schedule);
  std::vector<std::size_t> next(schedule.ranks.size(), 0);
  std::vector<ActionPosition> order;
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      const std::vector<Action>& actions = schedule.ranks[rank];
      while (next[rank] < actions.size()) {
        const Action& action = actions[next[rank]];
        const std::optional<Action> source = waits_for(schedule, action, lowered);
        if (source && done[*source] == 0) break;
        done[action] = 1;
        order.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(next[rank]++)});
        progress = true;
      }
    }
  }
  return order;
}

}  // namespace omnibal::schedule
