// SPDX-License-Identifier: Apache-2.0
//
// RankPlan: a plan of any schedule: ranks that run several stages, backwards that are split.
#pragma once

#include "joint/alike_steps.h"
#include "joint/plan_model.h"
#include "joint/rank_recompute.h"

namespace omnibal::joint {

class RankPlan : public PlanModel {
 public:
  /// All must outlive it.
  RankPlan(const JointProblem& problem, const RankLayout& layout, const StageTables& tables,
           const TickScale& scale, RankCare care);

  PlanTimes times_of(const StageEnds& ends) override;
  Ticks rough_path_of(const StageEnds& ends) override;
  void choose(const StageEnds& ends, LayerChoices& choices) override;
  Ticks bottleneck_of(const StageEnds& ends, const LayerChoices& choices) override;
  std::int64_t peak_beside(const StageEnds& ends, std::size_t cut,
                           const LayerChoices* choices) override;

  /// Times without any recomputation, as if memory had no end: never above those of times_of.
  PlanTimes free_times_of(const StageEnds& ends);
  /// The rank that needs most at best, and what.
  struct Fullest {
    std::size_t rank = 0;
    std::int64_t bytes = 0;
  };
  Fullest fullest_rank(const StageEnds& ends) const;
  /// What all ranks together miss at best.
  std::int64_t missing_bytes(const StageEnds& ends) const;
  /// Of the only stage of a rank, least.
  std::int64_t least_peak_bytes(const StageSpan& span) const;
  /// The step with these choices.
  Ticks path_with(const StageEnds& ends, const LayerChoices& choices);
  bool was_cut_off() const { return recompute_.was_cut_off(); }
  bool has_near_kinds() const { return recompute_.has_near_kinds(); }
  /// There may be recomputation.
  bool is_limited() const { return is_limited_; }
  /// How dear a question is: more where layers differ.
  std::int64_t effort() const { return is_limited_ ? recompute_.effort() : 1; }

 private:
  /// Sets stages_ to the times without recomputation.
  void time_stages(const StageEnds& ends);
  void time_stages(const StageEnds& ends, const LayerChoices& choices);
  /// Adds it. False: a rank does not fit.
  bool add_recomputation(const StageEnds& ends);
  const RankRecompute::Answer& answer_of(std::size_t rank, const StageEnds& ends);
  Ticks slowest_rank() const;

  std::span<const JointLayer> layers_;
  const RankLayout& layout_;
  const StageTables& tables_;
  const TickScale& scale_;
  AlikeSteps steps_;
  RankRecompute recompute_;
  bool is_limited_ = true;
  /// The last answer of each rank: a move changes few ranks.
  struct Last {
    RankSpans spans;
    const RankRecompute::Answer* answer = nullptr;  // of recompute_, which keeps all it has given
  };
  std::vector<Last> last_;
  std::vector<Ticks> weight_grad_;  // running totals; all 0 where backwards are whole
  std::vector<SplitStageTime> stages_;
};

}  // namespace omnibal::joint
