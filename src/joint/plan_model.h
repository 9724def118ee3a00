// SPDX-License-Identifier: Apache-2.0
//
// PlanModel: what whole cuts mean as a plan, the only question that the search asks. One model for
// a stage a rank with whole backwards (here), one for any schedule (rank_plan.h).
#pragma once

#include <compare>

#include "joint/cut_grid.h"
#include "joint/stage_model.h"
#include "joint/step_path.h"

namespace omnibal::joint {

/// What programs compare, without the evaluator; path kNever: the cuts do not fit.
struct PlanTimes {
  Ticks path = kNever;
  Ticks bottleneck = 0;

  friend auto operator<=>(const PlanTimes&, const PlanTimes&) = default;
};

/// All cuts are on the grid. Methods are not const: models remember what they have found.
class PlanModel {
 public:
  virtual ~PlanModel() = default;

  /// With the best recomputation.
  virtual PlanTimes times_of(const StageEnds& ends) = 0;
  /// Never above its path, at little cost.
  virtual Ticks rough_path_of(const StageEnds& ends) = 0;
  /// The recomputation of times_of, which fits.
  virtual void choose(const StageEnds& ends, LayerChoices& choices) = 0;
  /// Busy time of the slowest rank.
  virtual Ticks bottleneck_of(const StageEnds& ends, const LayerChoices& choices) = 0;
  /// The larger peak of the ranks on both sides of a cut; without choices, the least possible.
  virtual std::int64_t peak_beside(const StageEnds& ends, std::size_t cut,
                                   const LayerChoices* choices) = 0;
};

/// Of a span with these choices.
Ticks recompute_of(std::span<const JointLayer> layers, const TickScale& scale,
                   const StageSpan& span, const LayerChoices& choices);

/// A stage a rank, backwards whole.
class StagePlan : public PlanModel {
 public:
  /// All must outlive it.
  StagePlan(std::span<const JointLayer> layers, const TickScale& scale, const StepPath& path,
            StageModel& model)
      : layers_(layers), scale_(scale), path_(path), model_(model) {}

  PlanTimes times_of(const StageEnds& ends) override;
  Ticks rough_path_of(const StageEnds& ends) override;
  void choose(const StageEnds& ends, LayerChoices& choices) override;
  Ticks bottleneck_of(const StageEnds& ends, const LayerChoices& choices) override;
  std::int64_t peak_beside(const StageEnds& ends, std::size_t cut,
                           const LayerChoices* choices) override;

 private:
  std::span<const JointLayer> layers_;
  const TickScale& scale_;
  const StepPath& path_;
  StageModel& model_;
  std::vector<StageTime> times_;
};

}  // namespace omnibal::joint
