// SPDX-License-Identifier: Apache-2.0
//
// StepPath: the time of a step in closed form, from stage times alone: the makespan of GPipe and of
// 1F1B if micro-batches are alike and links free (docs/methods/joint.md), a lower bound on it if
// links take time.
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
  Ticks path = 0;  // longest path from the first of them down and back to it
  // 1F1B: the longest way from the first of them to a stage where it turns before its first
  // backward, and the longest back from one after its last forward. GPipe: longest forward and
  // longest backward of any.
  Ticks filling = 0;
  Ticks draining = 0;

  bool is_no_worse(const PathTail& other) const {
    return work <= other.work && path <= other.path && filling <= other.filling &&
           draining <= other.draining;
  }
};
/// The least of each.
PathTail least_of_both(const PathTail& a, const PathTail& b);

class StepPath {
 public:
  explicit StepPath(const JointProblem& problem);

  /// With one more stage at the front of `behind`; `before` are the longest forward and backward of
  /// the stages before it (or something below them). Rises with all of its arguments. O(1).
  PathTail through(std::int32_t stage, const StageTime& time, const StageTime& before,
                   const PathTail& behind) const;

  /// The longest busy time of a span with which a path may stay within `most`, whatever the other
  /// stages are; `model` gives what they take at least.
  Ticks most_busy(const StageSpan& span, const StageTables& tables, Ticks most) const;

  /// Of a whole pipeline. O(p).
  Ticks length(const std::vector<StageTime>& times) const;

 private:
  /// The path that turns at a stage, of `from` stages with those behind it, again and again.
  void turn_at(Ticks from, const StageTime& time, const StageTime& longest, const PathTail& behind,
               PathTail& tail) const;

  bool is_1f1b_ = true;
  Ticks micro_batches_ = 1;
  std::vector<Ticks> stages_from_;  // [p]: this one and those behind it
};

}  // namespace omnibal::joint
