// SPDX-License-Identifier: Apache-2.0
//
// What offloaded activations need of the hosts' memory.
//
//   const ChosenStages chosen{schedule, profile, load, cuts, choices};
//   host_bytes_of_ranks(chosen)[2];   // of rank 2
//   OMNIBAL_RETURN_IF_ERROR(check_host_memory(chosen, cluster.host_share_bytes()));
//
// Not for the devices' own memory: simulate/stage_memory.h.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/partition/partition.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::plan {

/// Stages of a profile, the same load in every micro-batch.
struct ChosenStages {
  const schedule::Schedule& schedule;
  const cost::Profile& profile;
  const cost::Load& load;
  const partition::Cuts& cuts;
  const cost::LayerChoices& choices;
};

/// By rank, the most that a device of it has in its host's memory at once: of every micro-batch
/// between forward and backward, what the layers that take the choice "offload" do not keep.
/// O(layers + actions).
std::vector<std::int64_t> host_bytes_of_ranks(const ChosenStages& chosen);

/// `share_bytes`: a device's share of its host's memory; 0: not known, nothing is checked. Error:
/// kMemoryInfeasible, naming the rank that lacks most.
Status check_host_memory(const ChosenStages& chosen, std::int64_t share_bytes);

}  // namespace omnibal::plan
