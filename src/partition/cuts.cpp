// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {

std::vector<StageRange> stage_ranges(const Cuts& cuts, std::int32_t num_layers) {
  std::vector<StageRange> ranges;
  std::int32_t begin = 0;
  for (const LayerIndex cut : cuts) {
    ranges.push_back({begin, cut.value()});
    begin = cut.value();
  }
  ranges.push_back({begin, num_layers});
  return ranges;
}

std::vector<std::int32_t> first_layers(const Cuts& cuts) {
  std::vector<std::int32_t> layers;
  for (const LayerIndex cut : cuts) layers.push_back(cut.value());
  return layers;
}

Cuts cuts_at(std::span<const std::int32_t> first_layers) {
  Cuts cuts;
  for (const std::int32_t layer : first_layers) cuts.push_back(LayerIndex{layer});
  return cuts;
}

Status check_cuts(const Cuts& cuts, std::int32_t num_layers) {
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const std::int32_t at = cuts[c].value();
    const std::int32_t before = c == 0 ? 0 : cuts[c - 1].value();
    if (at > before && at < num_layers) continue;
    return Error(ErrorCode::kOutOfRange,
                 fmt::format("cut {} leaves a stage without layers or lies outside the {} layers",
                             at, num_layers))
        .at_key("cuts")
        .with_value(std::int64_t{at})
        .with_limit(fmt::format("{} to {}", before + 1, num_layers - 1))
        .with_hint("give the layers at which a new stage begins, in rising order");
  }
  return {};
}

}  // namespace omnibal::partition
