// SPDX-License-Identifier: Apache-2.0
//
// RankRecompute's kinds of layers: alike layers are counted, not searched one by one.
#include <algorithm>
#include <tuple>

#include "joint/rank_recompute.h"

namespace omnibal::joint {

std::vector<RankRecompute::Option> RankRecompute::options_of(const JointLayer& layer) const {
  std::vector<Option> options;
  for (std::size_t c = 0; c < layer.choices.size(); ++c) {
    const std::int64_t saving = layer.activation_bytes - layer.choices[c].kept_bytes;
    if (saving <= 0) continue;
    options.push_back({saving, scale_.ticks(layer.choices[c].recompute_s),
                       transient_bytes(layer, layer.choices[c]), static_cast<std::int32_t>(c) + 1});
  }
  std::ranges::stable_sort(options, [](const Option& a, const Option& b) {
    return std::tie(b.saving, a.cost) < std::tie(a.saving, b.cost);
  });
  return options;
}

std::vector<RankRecompute::Option> RankRecompute::useful_options(const LayerKind& kind,
                                                                 std::int64_t transient) {
  std::vector<Option> useful;
  for (const Option& option : kind.options) {  // later ones must be cheaper
    if (option.transient > transient) continue;
    if (useful.empty() || option.cost < useful.back().cost) useful.push_back(option);
  }
  return useful;
}

void RankRecompute::gather_kinds() {
  const std::size_t num_layers = layers_.size();
  std::vector<std::size_t> kind_of(num_layers, num_layers);
  for (std::size_t i = 0; i < num_layers; ++i) {
    LayerKind kind{options_of(layers_[i]), {}};
    if (kind.options.empty()) continue;
    const auto known = std::ranges::find(kinds_, kind.options, &LayerKind::options);
    kind_of[i] = static_cast<std::size_t>(known - kinds_.begin());
    if (known == kinds_.end()) kinds_.push_back(std::move(kind));
    kinds_[kind_of[i]].layers.push_back(static_cast<std::int32_t>(i));
  }
  before_.assign((num_layers + 1) * kinds_.size(), 0);
  for (std::size_t i = 0; i < num_layers; ++i) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      before_[(i + 1) * kinds_.size() + k] =
          before_[i * kinds_.size() + k] + (kind_of[i] == k ? 1 : 0);
    }
  }
}

std::int32_t RankRecompute::count(std::size_t kind, const StageSpan& span) const {
  return before_[static_cast<std::size_t>(span.end) * kinds_.size() + kind] -
         before_[static_cast<std::size_t>(span.begin) * kinds_.size() + kind];
}

}  // namespace omnibal::joint
