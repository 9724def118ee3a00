// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/host_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "omnibal/base/quantity.h"
#include "omnibal/schedule/fullest.h"

namespace omnibal::plan {
namespace {

/// Of one micro-batch, by stage.
std::vector<std::int64_t> offloaded_bytes(const ChosenStages& chosen) {
  const cost::Profile& profile = chosen.profile;
  const cost::LayerChoices& choices = chosen.choices;
  const std::vector<cost::LayerCost> layers = cost::evaluate(profile, chosen.load);
  const std::vector<std::vector<cost::ChoiceCost>> costs =
      cost::evaluate_choices(profile, chosen.load);
  std::vector<std::int64_t> stages;
  const auto num_layers = static_cast<std::int32_t>(layers.size());
  for (const partition::StageRange& range : partition::stage_ranges(chosen.cuts, num_layers)) {
    std::int64_t& bytes = stages.emplace_back(0);
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end);
         ++i) {
      if (choices[i] < cost::kFirstNamedChoice) continue;
      const auto choice = static_cast<std::size_t>(choices[i] - cost::kFirstNamedChoice);
      if (profile.layers[i].recompute_choices[choice].name != cost::kOffloadChoice) continue;
      bytes += layers[i].activation_bytes - costs[i][choice].kept_bytes;
    }
  }
  return stages;
}

}  // namespace

std::vector<std::int64_t> host_bytes_of_ranks(const ChosenStages& chosen) {
  const std::vector<std::int64_t> of_stages = offloaded_bytes(chosen);
  std::vector<std::int64_t> of_ranks;
  for (const schedule::RankMoments& rank : schedule::fullest_moments(chosen.schedule)) {
    std::int64_t& most = of_ranks.emplace_back(0);
    for (const schedule::FullMoment& moment : rank.moments) {
      std::int64_t held = 0;
      for (std::size_t k = 0; k < rank.stages.size(); ++k) {
        held += moment.held[k].for_backward *
                of_stages[static_cast<std::size_t>(rank.stages[k].value())];
      }
      most = std::max(most, held);
    }
  }
  return of_ranks;
}

Status check_host_memory(const ChosenStages& chosen, std::int64_t share_bytes) {
  if (share_bytes == 0) return {};
  const std::vector<std::int64_t> of_ranks = host_bytes_of_ranks(chosen);
  const auto fullest = std::ranges::max_element(of_ranks);
  if (*fullest <= share_bytes) return {};
  const std::int64_t missing = *fullest - share_bytes;
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("a device of rank {} offloads {}, its share of the host's memory is {}",
                           fullest - of_ranks.begin(), format_bytes(*fullest),
                           format_bytes(share_bytes)))
      .at_key("host_memory")
      .with_value(*fullest)
      .with_limit(share_bytes)
      .with_hint(fmt::format("{} a device are missing: give the cluster more host_memory, or use "
                             "--recompute-choices selective",
                             format_bytes(missing)));
}

}  // namespace omnibal::plan
