// SPDX-License-Identifier: Apache-2.0
#include "cli/recompute_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace omnibal::cli {

std::string recomputed_text(const metrics::StageSummary& stage, const cost::LayerChoices& choices,
                            const std::vector<cost::NamedChoice>& named) {
  const auto first = choices.begin() + stage.first_layer;
  std::string text =
      fmt::format("{} of {}", std::count(first, first + stage.num_layers, cost::kRecomputeAll),
                  stage.num_layers);
  std::map<std::string, std::int64_t> counts;
  for (const cost::NamedChoice& one : named) {
    const std::int64_t place = one.layer - stage.first_layer;
    if (place >= 0 && place < stage.num_layers) ++counts[one.name];
  }
  for (const auto& [name, count] : counts) text += fmt::format(", {} {}", count, name);
  return text;
}

}  // namespace omnibal::cli
