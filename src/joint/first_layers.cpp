// SPDX-License-Identifier: Apache-2.0
#include "joint/first_layers.h"

#include <algorithm>

namespace omnibal::joint {

std::int32_t FirstLayers::strongest_choice(const JointLayer& layer) {
  const auto least = std::ranges::min_element(layer.choices, {}, &RecomputeChoice::kept_bytes);
  return static_cast<std::int32_t>(least - layer.choices.begin()) + 1;
}

template <class Visit>
void FirstLayers::for_each_recomputed(const StageSpan& span, const Visit& visit) const {
  ClassCounts left = counts_;
  for (std::int32_t i = span.begin; i < span.end; ++i) {
    const JointLayer& layer = layers_[static_cast<std::size_t>(i)];
    std::int32_t& of_class = left[static_cast<std::size_t>(layer.layer_class)];
    if (layer.choices.empty() || of_class == 0) continue;
    --of_class;
    visit(i, layer, strongest_choice(layer));
  }
}

std::int64_t FirstLayers::least_peak_bytes(const StageSpan& span) const {
  std::int64_t kept = tables().activation_bytes(span);
  std::int64_t transient = 0;
  for_each_recomputed(span, [&](std::int32_t, const JointLayer& layer, std::int32_t choice) {
    const RecomputeChoice& taken = layer.choices[static_cast<std::size_t>(choice) - 1];
    kept -= layer.activation_bytes - taken.kept_bytes;
    transient = std::max(transient, transient_bytes(layer, taken));
  });
  return tables().static_bytes(span) + tables().in_flight(span) * kept + transient;
}

Bounds FirstLayers::recompute(const StageSpan& span, Ticks) {
  if (least_peak_bytes(span) > tables().limit_bytes()) return {kNever, kNever};
  Ticks sum = 0;
  for_each_recomputed(span, [&](std::int32_t, const JointLayer& layer, std::int32_t choice) {
    sum += scale_.ticks(layer.choices[static_cast<std::size_t>(choice) - 1].recompute_s);
  });
  return {sum, sum};
}

void FirstLayers::choose(const StageSpan& span, LayerChoices& choices) {
  for (std::int32_t i = span.begin; i < span.end; ++i) choices[static_cast<std::size_t>(i)] = 0;
  for_each_recomputed(span, [&](std::int32_t i, const JointLayer&, std::int32_t choice) {
    choices[static_cast<std::size_t>(i)] = choice;
  });
}

}  // namespace omnibal::joint
