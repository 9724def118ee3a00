// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "omnibal/recompute/bar.h"

namespace omnibal::recompute {
namespace {

LayerClass class_of(const std::optional<model::LayerKind>& kind) {
  if (!kind) return LayerClass::kLlm;
  if (*kind == model::LayerKind::kVisionBlock) return LayerClass::kVision;
  return *kind == model::LayerKind::kLlmBlock ? LayerClass::kLlm : LayerClass::kOther;
}

}  // namespace

std::vector<BarLayer> bar_layers(const cost::Profile& profile,
                                 std::span<const cost::LayerCost> costs) {
  std::vector<BarLayer> layers;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    layers.push_back({class_of(profile.layers[i].kind), costs[i].recompute_s,
                      costs[i].can_recompute, costs[i].transient(), profile.layers[i].trainable});
  }
  return layers;
}

MemoryProbe modelled_memory(std::span<const cost::LayerCost> layers,
                            std::span<const std::int32_t> cuts,
                            std::vector<std::int64_t> in_flight) {
  std::vector<std::int32_t> edges{0};
  edges.insert(edges.end(), cuts.begin(), cuts.end());
  edges.push_back(static_cast<std::int32_t>(layers.size()));
  return [layers, edges = std::move(edges), in_flight = std::move(in_flight)](
             StageIndex stage, const RecomputeMask& mask) {
    const auto s = static_cast<std::size_t>(stage.value());
    std::int64_t fixed = 0;
    std::int64_t kept = 0;
    std::int64_t transient = 0;
    for (auto i = static_cast<std::size_t>(edges[s]); i < static_cast<std::size_t>(edges[s + 1]);
         ++i) {
      fixed += layers[i].static_bytes;
      kept += mask[i] ? layers[i].recomputed_bytes : layers[i].activation_bytes;
      if (mask[i]) transient = std::max(transient, layers[i].transient());
    }
    return fixed + in_flight[s] * kept + transient;
  };
}

}  // namespace omnibal::recompute
