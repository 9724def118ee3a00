// SPDX-License-Identifier: Apache-2.0
#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

bool crosses_ranks(const Schedule& schedule, std::int32_t from, std::int32_t to) {
  if (to < 0 || to >= schedule.num_stages) return false;
  return schedule.stage_rank[static_cast<std::size_t>(from)] !=
         schedule.stage_rank[static_cast<std::size_t>(to)];
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
      if (crosses_ranks(schedule, stage, stage - 1)) transfer(ActionKind::kReceiveActivation);
      out.push_back(action);
      if (crosses_ranks(schedule, stage, stage + 1)) transfer(ActionKind::kSendActivation);
      break;
    case ActionKind::kBackward:
      if (crosses_ranks(schedule, stage, stage + 1)) transfer(ActionKind::kReceiveGradient);
      out.push_back(action);
      if (crosses_ranks(schedule, stage, stage - 1)) transfer(ActionKind::kSendGradient);
      break;
    default:
      out.push_back(action);
  }
}

}  // namespace

Schedule lower(const Schedule& compute) {
  Schedule lowered{
      compute.kind, compute.num_stages, compute.num_micro_batches, compute.stage_rank, {}};
  for (const std::vector<Action>& actions : compute.ranks) {
    std::vector<Action>& out = lowered.ranks.emplace_back();
    out.reserve(3 * actions.size());
    for (const Action& action : actions) append_with_transfers(compute, action, out);
  }
  return lowered;
}

}  // namespace omnibal::schedule
