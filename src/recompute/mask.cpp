// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/recompute/bar.h"

namespace omnibal::recompute {

RecomputeMask recompute_none(std::size_t num_layers) { return RecomputeMask(num_layers, false); }

RecomputeMask recompute_full(std::span<const BarLayer> layers) {
  RecomputeMask mask(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) mask[i] = layers[i].can_recompute;
  return mask;
}

std::vector<std::int64_t> recomputed_layers(const RecomputeMask& mask) {
  std::vector<std::int64_t> layers;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) layers.push_back(static_cast<std::int64_t>(i));
  }
  return layers;
}

Result<RecomputeMask> mask_of(std::span<const std::int64_t> layers, std::size_t num_layers) {
  RecomputeMask mask = recompute_none(num_layers);
  for (const std::int64_t layer : layers) {
    if (layer < 0 || layer >= static_cast<std::int64_t>(num_layers)) {
      return Error(ErrorCode::kOutOfRange, fmt::format("there is no layer {} to recompute", layer))
          .at_key("recompute")
          .with_value(layer)
          .with_limit(static_cast<std::int64_t>(num_layers) - 1);
    }
    mask[static_cast<std::size_t>(layer)] = true;
  }
  return mask;
}

}  // namespace omnibal::recompute
