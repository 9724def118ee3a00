// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <tuple>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

/// Executes lowered lists with letters in flight instead of dependencies: a send posts one, a
/// receive waits for its own and takes it away. Says what is wrong at the end; "" if nothing is.
class LetterBox {
 public:
  explicit LetterBox(const Schedule& schedule) : schedule_(schedule) {}

  std::string deliver() {
    std::vector<std::size_t> next(schedule_.ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < next.size(); ++rank) {
        const std::vector<Action>& actions = schedule_.ranks[rank];
        while (next[rank] < actions.size() && step(actions[next[rank]])) {
          ++next[rank];
          moved = true;
        }
      }
    }
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      if (next[rank] < schedule_.ranks[rank].size()) {
        return "stuck at " + to_text(schedule_.ranks[rank][next[rank]]);
      }
    }
    return letters_.empty() ? "" : "letters nobody takes";
  }

 private:
  using Letter = std::tuple<bool, std::int32_t, std::int32_t>;  // forward?, to stage, micro-batch

  bool remote(std::int32_t a, std::int32_t b) const {
    return schedule_.stage_rank[static_cast<std::size_t>(a)] !=
           schedule_.stage_rank[static_cast<std::size_t>(b)];
  }
  bool done(ActionKind kind, std::int32_t stage, const Action& like) const {
    return done_.contains(to_text({kind, StageIndex{stage}, like.micro_batch}));
  }
  /// Whether what a neighbour on the same or another rank made is here.
  bool has_input(const Action& a, std::int32_t from, ActionKind made, ActionKind received) const {
    if (from < 0 || from >= schedule_.num_stages) return true;
    return remote(from, a.stage.value()) ? done(received, a.stage.value(), a) : done(made, from, a);
  }
  bool can_run(const Action& a) const {
    const std::int32_t s = a.stage.value();
    switch (a.kind) {
      case ActionKind::kForward:
        return has_input(a, s - 1, ActionKind::kForward, ActionKind::kReceiveActivation);
      case ActionKind::kBackward:
        return done(ActionKind::kForward, s, a) &&
               has_input(a, s + 1, ActionKind::kBackward, ActionKind::kReceiveGradient);
      case ActionKind::kWeightGrad:
      case ActionKind::kSendGradient:
        return done(ActionKind::kBackward, s, a);
      case ActionKind::kSendActivation:
        return done(ActionKind::kForward, s, a);
      case ActionKind::kReceiveActivation:
        return letters_.contains({true, s, a.micro_batch.value()});
      case ActionKind::kReceiveGradient:
        return letters_.contains({false, s, a.micro_batch.value()});
    }
    return false;
  }
  bool step(const Action& a) {
    if (!can_run(a)) return false;
    const std::int32_t s = a.stage.value();
    const std::int32_t m = a.micro_batch.value();
    if (a.kind == ActionKind::kSendActivation) letters_.insert({true, s + 1, m});
    if (a.kind == ActionKind::kSendGradient) letters_.insert({false, s - 1, m});
    if (a.kind == ActionKind::kReceiveActivation) letters_.erase({true, s, m});
    if (a.kind == ActionKind::kReceiveGradient) letters_.erase({false, s, m});
    return done_.insert(to_text(a)).second;
  }

  const Schedule& schedule_;
  std::set<std::string> done_;
  std::set<Letter> letters_;
};

}  // namespace omnibal::schedule
