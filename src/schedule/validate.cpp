// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "schedule/action_table.h"

namespace omnibal::schedule {
namespace {

Error violation(std::string message) {
  return Error(ErrorCode::kInternal, "the schedule is invalid: " + std::move(message));
}

Status check_shape(const Schedule& schedule) {
  if (schedule.num_stages < 1) return violation("it has no stages");
  if (schedule.num_micro_batches < 1) return violation("it has no micro-batches");
  if (schedule.stage_rank.size() != static_cast<std::size_t>(schedule.num_stages)) {
    return violation(fmt::format("{} of {} stages are given a rank", schedule.stage_rank.size(),
                                 schedule.num_stages));
  }
  for (const std::vector<RankIndex>* named : {&schedule.stage_rank, &schedule.spread_ranks}) {
    for (const RankIndex rank : *named) {
      if (rank.value() >= 0 && static_cast<std::size_t>(rank.value()) < schedule.ranks.size()) {
        continue;
      }
      return violation(fmt::format("there is no rank {}", rank.value()));
    }
  }
  return {};
}

/// Transfers go to or come from a neighbour on another rank.
bool transfer_has_partner(const Schedule& schedule, const Action& action) {
  const bool towards_last =
      action.kind == ActionKind::kSendActivation || action.kind == ActionKind::kReceiveGradient;
  const std::int32_t partner = action.stage.value() + (towards_last ? 1 : -1);
  if (partner < 0 || partner >= schedule.num_stages) return false;
  return rank_of(schedule, StageIndex{partner}, action.micro_batch) !=
         rank_of(schedule, action.stage, action.micro_batch);
}

/// Each action alone: indices in range, on the rank of its stage, no second time.
Status check_actions(const Schedule& schedule, ActionTable& seen) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Action& action : schedule.ranks[rank]) {
      const std::int32_t stage = action.stage.value();
      const std::int32_t micro_batch = action.micro_batch.value();
      const auto text = [&] { return fmt::format("{} on rank {}", to_text(action), rank); };
      if (stage < 0 || stage >= schedule.num_stages || micro_batch < 0 ||
          micro_batch >= schedule.num_micro_batches) {
        return violation(text() + " is out of range");
      }
      const RankIndex owner = rank_of(schedule, action.stage, action.micro_batch);
      if (static_cast<std::size_t>(owner.value()) != rank) {
        return violation(
            fmt::format("{}, but rank {} runs stage {}", text(), owner.value(), stage));
      }
      if (!is_compute(action.kind) && !transfer_has_partner(schedule, action)) {
        return violation(text() + " has no partner on another rank");
      }
      if (seen[action]++ != 0) return violation(text() + " stands there twice");
    }
  }
  return {};
}

/// Every (kind, stage, micro-batch) that must be there is.
Status check_complete(const Schedule& schedule, const ActionTable& seen, bool lowered) {
  const bool splits = has_weight_grads(schedule);
  for (int kind = 0; kind < kNumActionKinds; ++kind) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      for (std::int32_t m = 0; m < schedule.num_micro_batches; ++m) {
        const Action action{static_cast<ActionKind>(kind), StageIndex{stage}, MicroBatchIndex{m}};
        const bool needed = action.kind == ActionKind::kWeightGrad ? splits
                            : is_compute(action.kind)
                                ? true
                                : lowered && transfer_has_partner(schedule, action);
        if (needed && seen[action] == 0) return violation(to_text(action) + " is missing");
      }
    }
  }
  return {};
}

/// A backward needs its own forward too, which `waits_for` names on the last stage only.
Status check_forward_first(const Schedule& schedule) {
  ActionTable seen(schedule);
  for (const auto& actions : schedule.ranks) {
    for (const Action& action : actions) {
      seen[action] = 1;
      const Action forward{ActionKind::kForward, action.stage, action.micro_batch};
      if (action.kind == ActionKind::kBackward && seen[forward] == 0) {
        return violation(to_text(action) + " stands before its forward");
      }
    }
  }
  return {};
}

Status check_ends(const Schedule& schedule) {
  std::vector<std::size_t> executed(schedule.ranks.size(), 0);
  for (const ActionPosition& position : execution_order(schedule)) {
    ++executed[static_cast<std::size_t>(position.rank)];
  }
  std::string stuck;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    if (executed[rank] == schedule.ranks[rank].size()) continue;
    stuck += fmt::format("{}rank {} waits for ever at {}", stuck.empty() ? "" : ", ", rank,
                         to_text(schedule.ranks[rank][executed[rank]]));
  }
  return stuck.empty() ? Status() : violation(stuck);
}

}  // namespace

Status validate(const Schedule& schedule) {
  OMNIBAL_RETURN_IF_ERROR(check_shape(schedule));
  ActionTable seen(schedule);
  OMNIBAL_RETURN_IF_ERROR(check_actions(schedule, seen));
  OMNIBAL_RETURN_IF_ERROR(check_complete(schedule, seen, has_transfers(schedule)));
  OMNIBAL_RETURN_IF_ERROR(check_forward_first(schedule));
  return check_ends(schedule);
}

}  // namespace omnibal::schedule
