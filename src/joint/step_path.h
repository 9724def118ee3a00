// SPDX-License-Identifier: Apache-2.0
//
// StepPath: a lower bound on the time of a step from stage times alone, in O(1) a stage. For 1F1B
// with equal micro-batches it is the makespan itself unless stages differ by about a half
// (docs/methods/joint.md).
#pragma once

#include <vector>

#include "joint/cut_grid.h"
#include "joint/ticks.h"
#include "omnibal/joint/joint.h"

namespace omnibal::joint {

/// Ticks of a stage and a micro-batch.
struct StageTime {
  Ticks forward = 0;
  Ticks backward = 0;  // recomputation included

  Ticks busy() const { return forward + backward; }
};

class StepPath {
 public:
  explicit StepPath(const JointProblem& problem);

  /// Longest of the known paths through stages stage..p-1, if `behind` is that of the stages behind
  /// it and `work_behind` their busy time together. Rises with all of them.
  Ticks through(std::int32_t stage, const StageTime& time, Ticks work_behind, Ticks behind) const;

  /// The longest busy time of a span with which a path may stay within `most`, whatever the other
  /// stages are; `model` gives what they take at least.
  Ticks most_busy(const StageSpan& span, const StageTables& tables, Ticks most) const;

  /// Of a whole pipeline.
  Ticks length(const std::vector<StageTime>& times) const;

 private:
  bool is_1f1b_ = true;
  Ticks micro_batches_ = 1;
  std::vector<Ticks> stages_from_;  // [p]: this one and those behind it
};

}  // namespace omnibal::joint
