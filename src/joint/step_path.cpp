// SPDX-License-Identifier: Apache-2.0
#include "joint/step_path.h"

#include <algorithm>

namespace omnibal::joint {

StepPath::StepPath(const JointProblem& problem)
    : is_1f1b_(problem.schedule == schedule::ScheduleKind::kOneFOneB),
      micro_batches_(problem.num_micro_batches) {
  for (std::int32_t s = 0; s < problem.num_stages; ++s) {
    stages_from_.push_back(problem.num_stages - s);
  }
}

PathTail least_of_both(const PathTail& a, const PathTail& b) {
  return {std::min(a.work, b.work), std::min(a.path, b.path), std::min(a.filling, b.filling),
          std::min(a.draining, b.draining)};
}

void StepPath::turn_at(Ticks from, const StageTime& time, const StageTime& longest,
                       const PathTail& behind, PathTail& tail) const {
  const Ticks ahead = std::min(micro_batches_, from) - 1;
  const Ticks forwards = ahead * longest.forward;
  const Ticks backwards = ahead * longest.backward;
  if (micro_batches_ < from) {  // all forwards stand before all backwards: one way down and up
    tail.path = std::max(
        tail.path,
        time.busy() + std::max(forwards + backwards, behind.work + std::max(forwards, backwards)));
    return;
  }
  const Ticks filling = std::max(forwards, behind.filling);
  const Ticks draining = std::max(backwards, behind.draining);
  tail.path = std::max(tail.path, (micro_batches_ - ahead) * time.busy() + filling + draining);
  tail.filling = time.busy() + filling;
  tail.draining = time.busy() + draining;
}

PathTail StepPath::through(std::int32_t stage, const StageTime& time, const StageTime& before,
                           const PathTail& behind) const {
  PathTail tail{time.busy() + behind.work, time.busy() + behind.path, 0, 0};
  if (is_1f1b_) {
    const StageTime longest{std::max(time.forward, before.forward),
                            std::max(time.backward, before.backward)};
    turn_at(stages_from_[static_cast<std::size_t>(stage)], time, longest, behind, tail);
  } else {
    tail.filling = std::max(time.forward, behind.filling);
    tail.draining = std::max(time.backward, behind.draining);
    tail.path = tail.work + (micro_batches_ - 1) * (tail.filling + tail.draining);
  }
  return tail;
}

Ticks StepPath::most_busy(const StageSpan& span, const StageTables& tables, Ticks most) const {
  // The stage at work all the time: every micro-batch, once those before it have passed.
  const Ticks stays = (most - tables.work_before(span.begin)) / micro_batches_;
  const Ticks from = is_1f1b_ ? stages_from_[static_cast<std::size_t>(span.stage)] : 1;
  const Ticks rounds = micro_batches_ - from;
  if (rounds < 1) return stays;
  // Through all stages with the first micro-batch and, in 1F1B, from this one on with the last.
  const Ticks again = is_1f1b_ ? tables.work_from(span.end) : 0;
  return std::min(stays, (most - tables.work_from(0) - again) / rounds);
}

Ticks StepPath::length(const std::vector<StageTime>& times) const {
  std::vector<StageTime> before(times.size());
  for (std::size_t s = 1; s < times.size(); ++s) {
    before[s] = {std::max(before[s - 1].forward, times[s - 1].forward),
                 std::max(before[s - 1].backward, times[s - 1].backward)};
  }
  PathTail tail;
  for (auto s = times.size(); s-- > 0;) {
    tail = through(static_cast<std::int32_t>(s), times[s], before[s], tail);
  }
  return tail.path;
}

}  // namespace omnibal::joint
