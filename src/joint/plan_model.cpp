// SPDX-License-Identifier: Apache-2.0
#include "joint/plan_model.h"

#include <algorithm>

namespace omnibal::joint {

Ticks recompute_of(std::span<const JointLayer> layers, const TickScale& scale,
                   const StageSpan& span, const LayerChoices& choices) {
  Ticks sum = 0;
  for (auto i = static_cast<std::size_t>(span.begin); i < static_cast<std::size_t>(span.end); ++i) {
    if (choices[i] == 0) continue;
    const auto choice = static_cast<std::size_t>(choices[i]) - 1;
    sum += scale.ticks(layers[i].choices[choice].recompute_s);
  }
  return sum;
}

PlanTimes StagePlan::times_of(const StageEnds& ends) {
  PlanTimes times;
  times_.clear();
  for (const StageSpan& span : stage_spans(ends)) {
    const Ticks busy = model_.busy(span, kNever - 1).upper;
    if (busy >= kNever) return {};
    const Ticks forward = model_.tables().forward(span);
    times_.push_back({forward, busy - forward});
    times.bottleneck = std::max(times.bottleneck, busy);
  }
  times.path = path_.length(times_);
  return times;
}

Ticks StagePlan::rough_path_of(const StageEnds& ends) {
  times_.clear();
  for (const StageSpan& span : stage_spans(ends)) {
    const Ticks busy = model_.rough_busy(span).lower;
    if (busy >= kNever) return kNever;
    const Ticks forward = model_.tables().forward(span);
    times_.push_back({forward, busy - forward});
  }
  return path_.length(times_);
}

void StagePlan::choose(const StageEnds& ends, LayerChoices& choices) {
  for (const StageSpan& span : stage_spans(ends)) model_.choose(span, choices);
}

Ticks StagePlan::bottleneck_of(const StageEnds& ends, const LayerChoices& choices) {
  Ticks slowest = 0;
  for (const StageSpan& span : stage_spans(ends)) {
    slowest = std::max(slowest,
                       model_.tables().work(span) + recompute_of(layers_, scale_, span, choices));
  }
  return slowest;
}

std::int64_t StagePlan::peak_beside(const StageEnds& ends, std::size_t cut,
                                    const LayerChoices* choices) {
  const std::vector<StageSpan> spans = stage_spans(ends);
  std::int64_t largest = 0;
  for (const StageSpan& span : {spans[cut], spans[cut + 1]}) {
    largest =
        std::max(largest, choices != nullptr ? peak_bytes(model_.tables(), layers_, span, *choices)
                                             : model_.least_peak_bytes(span));
  }
  return largest;
}

}  // namespace omnibal::joint
