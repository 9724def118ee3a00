// SPDX-License-Identifier: Apache-2.0
//
// Schedules with split backwards. ZB-H1: Qi et al., "Zero bubble pipeline parallelism", arXiv
// 2401.10241, section 3.1. ZB-V: Qi et al., "Pipeline parallelism with controllable memory", arXiv
// 2405.15362, in the closed form of PyTorch's ScheduleZBVZeroBubble.
#include <algorithm>
#include <array>
#include <utility>

#include "schedule/stage_lists.h"

namespace omnibal::schedule {
namespace {

/// Counts the micro-batches of each kind of action of the two stages of a rank and leaves out
/// those that are not there.
class VList {
 public:
  explicit VList(const RankPlace& place)
      : place_(place), stages_{place.rank, 2 * place.num_ranks - 1 - place.rank} {}

  static constexpr std::size_t kDown = 0;  // towards the last rank
  static constexpr std::size_t kUp = 1;    // back to the first

  void run(std::size_t side, std::initializer_list<ActionKind> kinds) {
    for (const ActionKind kind : kinds) {
      const std::int32_t micro_batch = next_[side][static_cast<std::size_t>(kind)]++;
      if (micro_batch >= place_.num_micro_batches) continue;
      actions_.push_back(action_of(kind, stages_[side], micro_batch));
    }
  }
  std::int32_t num_run(std::size_t side, ActionKind kind) const {
    return next_[side][static_cast<std::size_t>(kind)];
  }
  std::vector<Action> finish() && { return std::move(actions_); }

 private:
  const RankPlace& place_;
  std::array<std::int32_t, 2> stages_;
  std::array<std::array<std::int32_t, kNumActionKinds>, 2> next_{};
  std::vector<Action> actions_;
};

constexpr ActionKind kF = ActionKind::kForward;
constexpr ActionKind kB = ActionKind::kBackward;
constexpr ActionKind kW = ActionKind::kWeightGrad;

}  // namespace

std::vector<Action> zb_h1_list(const RankPlace& place) {
  const std::int32_t total = place.num_micro_batches;
  const std::int32_t ahead = std::min(total, place.num_ranks - 1 - place.rank);
  // Weight gradients lag `rank` backwards behind, so that every rank holds as many micro-batches
  // as the first does in 1F1B, and has that many weight gradients left to fill its drain.
  const std::int32_t lag = place.rank;
  std::vector<Action> actions;
  actions.reserve(3 * static_cast<std::size_t>(total));
  for (std::int32_t m = 0; m < ahead; ++m) actions.push_back(action_of(kF, place.rank, m));
  for (std::int32_t m = 0; m < total; ++m) {
    if (ahead + m < total) actions.push_back(action_of(kF, place.rank, ahead + m));
    actions.push_back(action_of(kB, place.rank, m));
    if (m >= lag) actions.push_back(action_of(kW, place.rank, m - lag));
  }
  for (std::int32_t m = std::max(0, total - lag); m < total; ++m) {
    actions.push_back(action_of(kW, place.rank, m));
  }
  return actions;
}

std::vector<Action> zb_v_list(const RankPlace& place) {
  const std::int32_t p = place.num_ranks;
  const std::int32_t behind = p - place.rank;
  // The pattern needs 2 p - 1 micro-batches; with fewer, those that are not there are left out.
  const std::int32_t total = std::max(place.num_micro_batches, 2 * p - 1);
  VList list(place);
  constexpr std::size_t kDown = VList::kDown;
  constexpr std::size_t kUp = VList::kUp;
  for (std::int32_t i = 0; i < 2 * behind - 1; ++i) list.run(kDown, {kF});
  for (std::int32_t i = 0; i < place.rank; ++i) {
    list.run(kUp, {kF});
    list.run(kDown, {kF});
  }
  for (std::int32_t i = 0; i < behind; ++i) list.run(kUp, {kF, kB, kW});
  while (list.num_run(kUp, kF) < total) {
    if (list.num_run(kDown, kF) < total) list.run(kDown, {kF});
    list.run(kDown, {kB, kW});
    list.run(kUp, {kF, kB, kW});
  }
  for (std::int32_t i = 0; i < place.rank; ++i) {
    list.run(kDown, {kB});
    list.run(kUp, {kB});
  }
  for (std::int32_t i = 0; i < behind; ++i) list.run(kDown, {kB, kW});
  while (list.num_run(kUp, kW) < total) list.run(kUp, {kW});
  while (list.num_run(kDown, kW) < total) list.run(kDown, {kW});
  return std::move(list).finish();
}

}  // namespace omnibal::schedule
