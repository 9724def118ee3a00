// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/ranked_stages.h"

#include "omnibal/simulate/stage_memory.h"

namespace omnibal::simulate {

RankedStages ranked_stages(const schedule::Schedule& schedule, const cost::Profile& profile,
                           const cost::Load& load, const partition::Cuts& cuts,
                           const recompute::RecomputeMask& recompute) {
  RankedStages ranked;
  ranked.stages =
      metrics::summarize_stages(cost::evaluate(profile, load), partition::first_layers(cuts),
                                recompute, schedule::in_flight(schedule));
  const std::vector<cost::Load> loads(static_cast<std::size_t>(schedule.num_micro_batches), load);
  const std::vector<std::int64_t> of_stages =
      peak_bytes_of_stages(schedule, profile, cuts, recompute, loads);
  for (std::size_t s = 0; s < ranked.stages.size(); ++s) {
    ranked.stages[s].rank = schedule.stage_rank[s].value();
    ranked.stages[s].peak_bytes = of_stages[s];
  }
  ranked.ranks = metrics::summarize_ranks(ranked.stages);
  const std::vector<std::int64_t> of_ranks = peak_bytes(schedule, profile, cuts, recompute, loads);
  for (std::size_t r = 0; r < ranked.ranks.size(); ++r) ranked.ranks[r].peak_bytes = of_ranks[r];
  return ranked;
}

}  // namespace omnibal::simulate
