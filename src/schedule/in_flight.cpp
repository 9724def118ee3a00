// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

/// Highest count while a rank's list is replayed: up behind `first`, down behind `last`.
struct HeldCount {
  ActionKind first = ActionKind::kForward;
  ActionKind last = ActionKind::kBackward;
  std::int64_t held = 0;
  std::int64_t most = 0;

  void replay(const Action& action) {
    if (action.kind == first) most = std::max(most, ++held);
    if (action.kind == last) --held;
  }
};

ActionKind releasing_kind(const Schedule& schedule) {
  return has_weight_grads(schedule) ? ActionKind::kWeightGrad : ActionKind::kBackward;
}

/// A spread stage's count is that of the rank that holds most of it.
std::vector<std::int64_t> by_stage(const Schedule& schedule, const HeldCount& fresh) {
  const auto num_stages = static_cast<std::size_t>(schedule.num_stages);
  std::vector<std::int64_t> most(num_stages, 0);
  for (const std::vector<Action>& actions : schedule.ranks) {
    std::vector<HeldCount> counts(num_stages, fresh);
    for (const Action& action : actions) {
      counts[static_cast<std::size_t>(action.stage.value())].replay(action);
    }
    for (std::size_t s = 0; s < num_stages; ++s) most[s] = std::max(most[s], counts[s].most);
  }
  return most;
}

}  // namespace

std::int64_t in_flight(const Schedule& schedule, StageIndex stage) {
  return in_flight(schedule)[static_cast<std::size_t>(stage.value())];
}

std::vector<std::int64_t> in_flight(const Schedule& schedule) {
  return by_stage(schedule, {.last = releasing_kind(schedule)});
}

std::vector<std::int64_t> in_flight_of_ranks(const Schedule& schedule) {
  const ActionKind last = releasing_kind(schedule);
  std::vector<std::int64_t> most;
  for (const std::vector<Action>& actions : schedule.ranks) {
    HeldCount count{.last = last};
    for (const Action& action : actions) count.replay(action);
    most.push_back(count.most);
  }
  return most;
}

std::vector<std::int64_t> awaiting_weight_grad(const Schedule& schedule) {
  if (!has_weight_grads(schedule)) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(schedule.num_stages), 0);
  }
  return by_stage(schedule, {.first = ActionKind::kBackward, .last = ActionKind::kWeightGrad});
}

}  // namespace omnibal::schedule
