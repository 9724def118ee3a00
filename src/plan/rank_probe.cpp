// SPDX-License-Identifier: Apache-2.0
#include "plan/rank_probe.h"

#include "omnibal/joint/joint.h"

namespace omnibal::plan {

HeldByRanks held_by_ranks(const schedule::Schedule& schedule) {
  HeldByRanks held{in_flight(schedule), {}, {}};
  const bool runs_several = schedule.ranks.size() < schedule.stage_rank.size();
  if (runs_several) held.stage_rank = schedule.stage_rank;
  if (runs_several || has_weight_grads(schedule)) held.ranks = fullest_moments(schedule);
  return held;
}

recompute::MemoryProbe memory_probe(const HeldByRanks& held,
                                    std::span<const recompute::BarLayer> layers,
                                    std::span<const cost::LayerCost> costs,
                                    const partition::Cuts& cuts) {
  if (held.ranks.empty()) {
    return recompute::modelled_memory(costs, partition::first_layers(cuts), held.in_flight);
  }
  return [held, cuts, of_joint = joint::joint_layers(layers, costs, costs)](
             StageIndex stage, const recompute::RecomputeMask& mask) {
    const auto s = static_cast<std::size_t>(stage.value());
    const auto rank =
        held.stage_rank.empty() ? s : static_cast<std::size_t>(held.stage_rank[s].value());
    return joint::peak_bytes_of_rank(held.ranks[rank], of_joint, cuts, joint::to_choices(mask));
  };
}

}  // namespace omnibal::plan
