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
  return {std::min(a.work, b.work), std::min(a.path, b.path), std::min(a.forward, b.forward),
          std::min(a.backward, b.backward)};
}

/// Longest path that turns at this stage, from its first forward to its last backward.
Ticks StepPath::through_1f1b(Ticks from, const StageTime& time, Ticks work_behind) const {
  const Ticks ahead = std::min(micro_batches_, from) - 1;
  const Ticks forwards = ahead * time.forward;
  const Ticks backwards = ahead * time.backward;
  if (micro_batches_ < from) {  // no forward stands behind a backward: no second way to the end
    return time.busy() +
           std::max(forwards + backwards, work_behind + std::max(forwards, backwards));
  }
  return (micro_batches_ - ahead) * time.busy() + std::max(forwards, work_behind) +
         std::max(backwards, work_behind);
}

PathTail StepPath::through(std::int32_t stage, const StageTime& time,
                           const PathTail& behind) const {
  PathTail tail{time.busy() + behind.work, 0, 0, 0};
  if (is_1f1b_) {
    tail.path =
        std::max(time.busy() + behind.path,
                 through_1f1b(stages_from_[static_cast<std::size_t>(stage)], time, behind.work));
  } else {
    tail.forward = std::max(time.forward, behind.forward);
    tail.backward = std::max(time.backward, behind.backward);
    tail.path = tail.work + (micro_batches_ - 1) * (tail.forward + tail.backward);
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
  PathTail tail;
  for (auto s = times.size(); s-- > 0;) {
    tail = through(static_cast<std::int32_t>(s), times[s], tail);
  }
  return tail.path;
}

}  // namespace omnibal::joint
