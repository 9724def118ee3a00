// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/loads.h"

#include <algorithm>

namespace omnibal::metrics {
namespace {

template <class LoadOfGroup>
std::vector<PackLoad> loads_of(const GroupView& groups, const LoadOfGroup& load_of_group) {
  std::vector<PackLoad> loads;
  loads.reserve(static_cast<std::size_t>(groups.size()));
  for (std::int64_t g = 0; g < groups.size(); ++g) loads.push_back(load_of_group(groups[g]));
  return loads;
}

}  // namespace

std::vector<PackLoad> packed_loads(const GroupView& groups, const SampleColumns& samples) {
  return loads_of(groups, [&samples](std::span<const std::uint32_t> members) {
    PackLoad load;
    for (const std::uint32_t i : members) {
      const std::int64_t tokens = samples.tokens[i];
      load.vision_units += samples.vision[i];
      load.tokens += tokens;
      load.token_pairs += tokens * tokens;
    }
    return load;
  });
}

std::vector<PackLoad> padded_loads(const GroupView& groups, const SampleColumns& samples) {
  return loads_of(groups, [&samples](std::span<const std::uint32_t> members) {
    PackLoad load;
    std::int64_t longest = 0;
    for (const std::uint32_t i : members) {
      load.vision_units += samples.vision[i];
      longest = std::max(longest, std::int64_t{samples.tokens[i]});
    }
    const auto size = static_cast<std::int64_t>(members.size());
    load.tokens = size * longest;
    load.token_pairs = size * longest * longest;
    return load;
  });
}

cost::Load largest_load(std::span<const PackLoad> loads) {
  PackLoad largest;
  for (const PackLoad& load : loads) {
    largest.vision_units = std::max(largest.vision_units, load.vision_units);
    largest.tokens = std::max(largest.tokens, load.tokens);
    largest.token_pairs = std::max(largest.token_pairs, load.token_pairs);
  }
  return to_load(largest);
}

cost::Load mean_load(std::span<const PackLoad> loads) {
  cost::Load sum;
  for (const PackLoad& load : loads) {
    sum.vision_units += static_cast<double>(load.vision_units);
    sum.tokens += static_cast<double>(load.tokens);
    sum.token_pairs += static_cast<double>(load.token_pairs);
  }
  const auto count = static_cast<double>(loads.size());
  return {sum.vision_units / count, sum.tokens / count, sum.token_pairs / count};
}

}  // namespace omnibal::metrics
