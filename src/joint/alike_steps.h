// SPDX-License-Identifier: Apache-2.0
//
// AlikeSteps: the time of a step of any schedule if micro-batches are alike and links free, from
// stage times alone: the schedule's lists executed in ticks. Where StepPath has a closed form it
// says the same.
#pragma once

#include <span>
#include <vector>

#include "joint/ticks.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::joint {

/// Ticks of a stage and a micro-batch.
struct SplitStageTime {
  Ticks forward = 0;
  Ticks backward = 0;     // recomputation included; of a split backward the input gradient
  Ticks weight_grad = 0;  // 0 where backwards are whole

  Ticks busy() const { return forward + backward + weight_grad; }
};

class AlikeSteps {
 public:
  /// A valid schedule of compute actions.
  explicit AlikeSteps(const schedule::Schedule& schedule);

  /// Not const: it has room of its own for the ends of actions. O(actions).
  Ticks length(std::span<const SplitStageTime> stages);

  /// Never above it: a micro-batch through all stages and back; each rank's busy time behind the
  /// forwards before its first stage and before the backwards that follow its last. O(stages).
  Ticks bound(std::span<const SplitStageTime> stages) const;

 private:
  struct Step {
    std::int32_t cell = 0;  // micro-batch x stages + stage
    std::int32_t stage = 0;
    std::int32_t rank = 0;
    schedule::ActionKind kind = schedule::ActionKind::kForward;
    bool waits = false;  // for the stage before (forward) or behind (backward)
  };
  Ticks micro_batches_ = 1;
  std::vector<std::vector<std::int32_t>> stages_of_rank_;
  std::vector<Step> steps_;
  std::vector<Ticks> forward_end_, backward_end_, clocks_;
};

}  // namespace omnibal::joint
