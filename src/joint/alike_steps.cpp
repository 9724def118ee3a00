// SPDX-License-Identifier: Apache-2.0
#include "joint/alike_steps.h"

#include <algorithm>

namespace omnibal::joint {

using schedule::ActionKind;

AlikeSteps::AlikeSteps(const schedule::Schedule& schedule)
    : micro_batches_(schedule.num_micro_batches),
      stages_of_rank_(schedule.ranks.size()),
      clocks_(schedule.ranks.size()) {
  for (std::int32_t s = 0; s < schedule.num_stages; ++s) {
    const RankIndex rank = schedule.stage_rank[static_cast<std::size_t>(s)];
    stages_of_rank_[static_cast<std::size_t>(rank.value())].push_back(s);
  }
  for (const schedule::ActionPosition& position : execution_order(schedule)) {
    const schedule::Action& action = schedule.ranks[static_cast<std::size_t>(position.rank)]
                                                   [static_cast<std::size_t>(position.index)];
    const std::int32_t stage = action.stage.value();
    const bool waits = action.kind == ActionKind::kForward    ? stage > 0
                       : action.kind == ActionKind::kBackward ? stage + 1 < schedule.num_stages
                                                              : false;
    steps_.push_back({action.micro_batch.value() * schedule.num_stages + stage, stage,
                      position.rank, action.kind, waits});
  }
  const auto cells = static_cast<std::size_t>(schedule.num_stages) *
                     static_cast<std::size_t>(schedule.num_micro_batches);
  forward_end_.resize(cells);
  backward_end_.resize(cells);
}

Ticks AlikeSteps::length(std::span<const SplitStageTime> stages) {
  std::ranges::fill(clocks_, 0);
  for (const Step& step : steps_) {
    const auto cell = static_cast<std::size_t>(step.cell);
    const SplitStageTime& time = stages[static_cast<std::size_t>(step.stage)];
    Ticks& clock = clocks_[static_cast<std::size_t>(step.rank)];
    if (step.kind == ActionKind::kForward) {
      if (step.waits) clock = std::max(clock, forward_end_[cell - 1]);
      forward_end_[cell] = clock += time.forward;
    } else if (step.kind == ActionKind::kBackward) {
      if (step.waits) clock = std::max(clock, backward_end_[cell + 1]);
      backward_end_[cell] = clock += time.backward;
    } else {
      clock += time.weight_grad;
    }
  }
  return *std::ranges::max_element(clocks_);
}

Ticks AlikeSteps::bound(std::span<const SplitStageTime> stages) const {
  Ticks way = stages.front().weight_grad;  // of one micro-batch
  for (const SplitStageTime& time : stages) way += time.forward + time.backward;
  Ticks bound = way;
  Ticks forwards_before = 0;
  Ticks backwards_before = 0;
  // Ranks in the order of their first stages: rank r begins with stage r.
  for (std::size_t rank = 0; rank < stages_of_rank_.size(); ++rank) {
    SplitStageTime sum;
    for (const std::int32_t s : stages_of_rank_[rank]) {
      const SplitStageTime& time = stages[static_cast<std::size_t>(s)];
      sum.forward += time.forward;
      sum.backward += time.backward;
      sum.weight_grad += time.weight_grad;
    }
    bound = std::max(bound, forwards_before + micro_batches_ * sum.busy());
    bound = std::max(bound, forwards_before + micro_batches_ * (sum.forward + sum.backward) +
                                backwards_before + stages.front().weight_grad);
    forwards_before += stages[rank].forward;
    backwards_before += stages[rank].backward;
  }
  return bound;
}

}  // namespace omnibal::joint
