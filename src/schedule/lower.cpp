// SPDX-License-Identifier: Apache-2.0
#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

/// Whether the micro-batch of `action` changes ranks between its stage and stage `to`.
bool crosses_ranks(const Schedule& schedule, const Action& action, std::int32_t to) {
  if (to < 0 || to >= schedule.num_stages) return false;
  return rank_of(schedule, action.stage, action.micro_batch) !=
         rank_of(schedule, StageIndex{to}, action.micro_batch);
}

/// `action` with its transfers: the receive it waits for before it, the send of what it made
/// behind it.
void append_with_transfers(const Schedule& schedule, const Action& action,
                           std::vector<Action>& out) {
  const std::int32_t stage = action.stage.value();
  const auto transfer = [&](ActionKind kind) {
    out.push_back({kind, action.stage, action.micro_batch});
  };
  switch (action.kind) {
    case ActionKind::kForward:
      if (crosses_ranks(schedule, action, stage - 1)) transfer(ActionKind::kReceiveActivation);
      out.push_back(action);
      if (crosses_ranks(schedule, action, stage + 1)) transfer(ActionKind::kSendActivation);
      break;
    case ActionKind::kBackward:
      if (crosses_ranks(schedule, action, stage + 1)) transfer(ActionKind::kReceiveGradient);
      out.push_back(action);
      if (crosses_ranks(schedule, action, stage - 1)) transfer(ActionKind::kSendGradient);
      break;
    default:
      out.push_back(action);
  }
}

}  // namespace

Schedule lower(const Schedule& compute) {
  Schedule lowered = compute;
  lowered.ranks.clear();
  for (const std::vector<Action>& actions : compute.ranks) {
    std::vector<Action>& out = lowered.ranks.emplace_back();
    out.reserve(3 * actions.size());
    for (const Action& action : actions) append_with_transfers(compute, action, out);
  }
  return lowered;
}

}  // namespace omnibal::schedule
