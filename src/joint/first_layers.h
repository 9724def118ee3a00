// SPDX-License-Identifier: Apache-2.0
//
// Recomputation by one rule for all stages: of each class of layers the first so many of a stage
// recompute, as far as they gain from it; all others keep their activations.
#pragma once

#include <array>
#include <limits>
#include <span>

#include "joint/stage_model.h"

namespace omnibal::joint {

/// By recompute::LayerClass: vision, LLM, other.
using ClassCounts = std::array<std::int32_t, 3>;
inline constexpr ClassCounts kEveryLayer{std::numeric_limits<std::int32_t>::max(),
                                         std::numeric_limits<std::int32_t>::max(),
                                         std::numeric_limits<std::int32_t>::max()};

class FirstLayers : public StageModel {
 public:
  /// Both must outlive it.
  FirstLayers(const StageTables& tables, std::span<const JointLayer> layers, const TickScale& scale,
              const ClassCounts& counts)
      : StageModel(tables), layers_(layers), scale_(scale), counts_(counts) {}

  Bounds recompute(const StageSpan& span, Ticks most) override;
  Bounds rough_recompute(const StageSpan& span) override { return recompute(span, kNever - 1); }
  void choose(const StageSpan& span, LayerChoices& choices) override;
  std::int64_t least_peak_bytes(const StageSpan& span) const override;

 private:
  /// Calls visit(layer) for each layer of the span that recomputes.
  template <class Visit>
  void for_each_recomputed(const StageSpan& span, const Visit& visit) const;
  /// The choice that saves most, from 1.
  static std::int32_t strongest_choice(const JointLayer& layer);

  std::span<const JointLayer> layers_;
  TickScale scale_;
  ClassCounts counts_;
};

}  // namespace omnibal::joint
