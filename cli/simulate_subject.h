// SPDX-License-Identifier: Apache-2.0
//
// What `omnibal simulate` simulates: a step of a plan directory, or of a profile with cuts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/profile.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"
#include "omnibal/simulate/step_end.h"

namespace omnibal::cli {

/// Most data-parallel ranks of a profile: every one is simulated and listed by itself.
inline constexpr std::int64_t kMostDataParallelRanks = 4096;

struct SimulateFlags {
  std::optional<std::string> directory;
  std::optional<std::int64_t> step;
  std::optional<std::string> profile;
  std::optional<std::string> cuts;
  std::optional<std::string> recompute_layers;
  std::vector<std::string> recompute_choice;
  std::optional<std::int64_t> micro_batches;
  std::optional<std::string> schedule;
  std::optional<std::int64_t> chunks;
  std::optional<std::int64_t> pp;
  std::optional<std::string> vision;
  std::optional<std::int64_t> vision_ranks;
  std::optional<std::string> loads;
  std::optional<std::string> cluster;
  std::optional<std::int64_t> tp;
  std::optional<std::int64_t> dp;
  std::optional<std::string> update;
  std::optional<std::string> trace;
  bool zero3 = false;
  std::optional<std::int64_t> prefetch;
};

/// What is simulated, from either form of the command.
struct SimulateSubject {
  cost::Profile profile;  // of layers as they spare memory
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;
  schedule::Schedule schedule;
  std::vector<std::vector<cost::Load>> loads;   // [dp][micro-batches]
  cluster::ParallelSizes sizes;                 // pp: ranks of the pipeline
  std::optional<cluster::ClusterSpec> cluster;  // absent: none was named
  bool links_cost = false;
  simulate::Reduction update = simulate::Reduction::kNone;  // the plan's own
};

/// What a lower room says of a value, as an error of the flag that gave it.
Error of_flag(Error error, const char* flag);

/// Layers of --recompute-layers.
Result<recompute::RecomputeMask> recomputed_of_flags(const SimulateFlags& flags,
                                                     const cost::Profile& profile);

/// kInvalidArgument for the first flag that is given though `form` of the command does not take it.
Status refuse_flags(const std::vector<std::pair<std::string, bool>>& given, std::string_view form);

/// The end of a step takes time on a cluster alone.
Error no_cluster_for_update();

/// One load a micro-batch: from --loads, or the profile's own --micro-batches times.
Result<std::vector<cost::Load>> loads_of_flags(const SimulateFlags& flags,
                                               const cost::Profile& profile);

/// Errors: flags of the other form or none of either; those of reading a plan or a profile, of
/// make_schedule; stages that do not fill the plan's ranks.
Result<SimulateSubject> subject_of(const SimulateFlags& flags);

}  // namespace omnibal::cli
