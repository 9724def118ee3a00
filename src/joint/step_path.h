// SPDX-License-Identifier: Apache-2.0
//
// StepPath: a lower bound on the time of a step from stage times alone, in O(1) a stage. With equal
// micro-batches and free links it is the makespan itself for GPipe, and for 1F1B unless stages
// differ by about a half (docs/methods/joint.md).
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

/// What stages from one to the last mean for those before them; smaller is better in each.
struct PathTail {
  Ticks work = 0;  // their busy time together
  Ticks path = 0;  // longest of the known paths that begin at them
  // GPipe only: longest forward and backward of any.
  Ticks forward = 0;
  Ticks backward = 0;

  bool is_no_worse(const PathTail& other) const {
    return work <= other.work && path <= other.path && forward <= other.forward &&
           backward <= other.backward;
  }
};
/// The least of each.
PathTail least_of_both(const PathTail& a, const PathTail& b);

class StepPath {
 public:
  explicit StepPath(const JointProblem& problem);

  /// With one more stage in front. Rises with all of its arguments.
  PathTail through(std::int32_t stage, const StageTime& time, const PathTail& behind) const;

  /// The longest busy time of a span with which a path may stay within `most`, whatever the other
  /// stages are; `model` gives what they take at least.
  Ticks most_busy(const StageSpan& span, const StageTables& tables, Ticks most) const;

  /// Of a whole pipeline.
  Ticks length(const std::vector<StageTime>& times) const;

 private:
  Ticks through_1f1b(Ticks from, const StageTime& time, Ticks work_behind) const;

  bool is_1f1b_ = true;
  Ticks micro_batches_ = 1;
  std::vector<Ticks> stages_from_;  // [p]: this one and those behind it
};

}  // namespace omnibal::joint
