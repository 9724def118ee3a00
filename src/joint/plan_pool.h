// SPDX-License-Identifier: Apache-2.0
//
// PlanPool: the plans that were looked at, each judged once.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "joint/plan_model.h"

namespace omnibal::joint {

struct JudgedPlan {
  StageEnds ends;
  LayerChoices choices;
  Ticks bottleneck = 0;
  Ticks path = 0;
  double makespan_s = 0;
};

/// As the answer gives it, in seconds.
JointPlan to_plan(const JudgedPlan& plan, const TickScale& scale);

/// What a search works on.
struct SearchSetting {
  const JointProblem& problem;
  const JointOptions& options;
  const Evaluator& evaluate;
  const CutGrid& grid;
  const TickScale& scale;
};

class PlanPool {
 public:
  /// Both must outlive it.
  PlanPool(const SearchSetting& setting, PlanModel& model) : setting_(setting), model_(model) {}

  /// Judges the cuts with the model's recomputation. Null: they are not allowed, or do not fit.
  const JudgedPlan* judge(const StageEnds& ends);
  /// The same, but also null if the path bound shows that they are slower than the best so far.
  const JudgedPlan* judge_if_promising(const StageEnds& ends);
  /// Judges other choices for the cuts of `plan`, a plan of the pool; if they are faster, both
  /// become them.
  bool improve(JudgedPlan& plan, LayerChoices choices);
  /// Judges the cuts with these choices, which fit, and with the model's own.
  void offer(const StageEnds& ends, const LayerChoices& choices);
  /// Without the evaluator; path kNever where judge gives null.
  PlanTimes times_of(const StageEnds& ends);
  /// The same at little cost: never above it.
  Ticks rough_path_of(const StageEnds& ends);

  /// Best first; equally fast ones by bottleneck, then cuts. Makespans equal up to rounding count
  /// as equal.
  std::vector<JudgedPlan> ranked() const;
  bool is_better(const JudgedPlan& a, const JudgedPlan& b) const;
  double least_makespan_s() const { return least_makespan_s_; }
  Ticks least_path() const { return least_path_; }  // of the judged plans
  std::int64_t num_judged() const { return num_judged_; }

 private:
  const SearchSetting& setting_;
  PlanModel& model_;
  std::map<StageEnds, std::optional<JudgedPlan>> plans_;
  double least_makespan_s_ = 0;
  Ticks least_path_ = kNever;
  std::int64_t num_judged_ = 0;
};

/// Local search by path length, then bottleneck: cuts move by one or two layers, neighbouring cuts
/// together by one, any two cuts by one each; the first move that helps is made. Ends when none
/// does, when the path is `bound`, or when `effort` (cuts timed) is used up.
StageEnds polish_path(PlanPool& pool, StageEnds ends, Ticks bound, std::int64_t& effort);

/// Local search by any score, with single cuts and neighbouring ones: until it is at most `enough`.
StageEnds polish_by(const CutGrid& grid, StageEnds ends,
                    const std::function<std::int64_t(const StageEnds&)>& score, std::int64_t enough,
                    std::int64_t& effort);

/// The same by the evaluator, with the first two kinds of moves: for micro-batches that are not
/// alike. Ends too after about kMostActions simulated actions.
void polish(PlanPool& pool, const SearchSetting& setting, JudgedPlan plan);
inline constexpr std::int64_t kMostActions = 2'000'000;

/// Recomputation of a plan where micro-batches are not alike and the least recomputation at one
/// load need not be the best: a layer keeps its activations and layers of another kind recompute,
/// as long as that makes the step faster.
void swap_choices(PlanPool& pool, const SearchSetting& setting, const StageTables& tables,
                  JudgedPlan plan);

}  // namespace omnibal::joint
