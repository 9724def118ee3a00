// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/occupancy.h"

#include <algorithm>
#include <vector>

namespace omnibal::metrics {

Fill fill(std::span<const PackLoad> loads, const PackCaps& caps) {
  if (loads.empty()) return {};
  double vision = 0;
  double tokens = 0;
  for (const PackLoad& load : loads) {
    vision += static_cast<double>(load.vision_units);
    tokens += static_cast<double>(load.tokens);
  }
  const auto packs = static_cast<double>(loads.size());
  return {vision / (packs * static_cast<double>(caps.vision_units)),
          tokens / (packs * static_cast<double>(caps.tokens))};
}

std::int64_t count_over_cap(std::span<const PackLoad> loads, const PackCaps& caps) {
  return std::count_if(loads.begin(), loads.end(), [&caps](const PackLoad& load) {
    return load.vision_units > caps.vision_units || load.tokens > caps.tokens;
  });
}

std::int64_t count_repeated_samples(std::span<const std::int64_t> pack_ids,
                                    const GroupView& groups) {
  std::vector<bool> seen(static_cast<std::size_t>(groups.size()));
  std::int64_t repeated = 0;
  for (const std::int64_t pack : pack_ids) {
    if (pack < 0) continue;
    if (seen[static_cast<std::size_t>(pack)]) {
      repeated += static_cast<std::int64_t>(groups[pack].size());
    }
    seen[static_cast<std::size_t>(pack)] = true;
  }
  return repeated;
}

}  // namespace omnibal::metrics
