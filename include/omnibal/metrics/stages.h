// SPDX-License-Identifier: Apache-2.0
//
// What a partition and a recomputation choice mean, stage by stage: pure functions that share no
// code with the solvers.
//
//   const auto layers = cost::evaluate(profile, profile.load);
//   const auto stages = summarize_stages(layers, cuts, recompute, schedule::in_flight(schedule));
//   partition_metrics(layers, stages).bottleneck_s;
//
// Not for the time of a step, which a schedule decides too: simulate/pipeline.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/cost/profile.h"

namespace omnibal::metrics {

struct StageSummary {
  std::int32_t rank = 0;  // that runs it
  std::int32_t first_layer = 0;
  std::int32_t num_layers = 0;
  double forward_s = 0;
  double backward_s = 0;   // input + weight gradients
  double recompute_s = 0;  // of its recomputed layers
  std::int64_t static_bytes = 0;
  std::int64_t kept_bytes = 0;       // of one micro-batch between forward and backward
  std::int64_t transient_bytes = 0;  // largest activation among the recomputed layers
  std::int64_t in_flight = 0;
  /// Of this stage alone: static + in_flight * kept + transient.
  std::int64_t peak_bytes = 0;

  double busy_s() const { return forward_s + backward_s + recompute_s; }
};

/// A stage a rank. `cuts`: layers at which a new stage begins; `recompute[l]`: layer l recomputes;
/// `in_flight[s]`: micro-batches of stage s kept at once.
std::vector<StageSummary> summarize_stages(std::span<const cost::LayerCost> layers,
                                           std::span<const std::int32_t> cuts,
                                           const std::vector<bool>& recompute,
                                           std::span<const std::int64_t> in_flight);

/// A rank with all its stages.
struct RankSummary {
  std::vector<std::int32_t> stages;
  double forward_s = 0;
  double busy_s = 0;  // forward + backward + recompute
  std::int64_t static_bytes = 0;
  /// What it needs at once. Its stages are not fullest at the same time: whoever knows the schedule
  /// fills it in (simulate/stage_memory.h).
  std::int64_t peak_bytes = 0;
};
std::vector<RankSummary> summarize_ranks(std::span<const StageSummary> stages);

struct PartitionMetrics {
  double bottleneck_s = 0;          // largest forward + backward + recompute of a rank
  double bottleneck_forward_s = 0;  // largest forward of a rank
  double var_forward_ms2 = 0;       // population variance of the stages' forward time, ms^2
  std::int64_t sum_comm_bytes = 0;  // boundary bytes over all cuts, one direction
  /// No cuts for as many ranks have a lower bottleneck_s if their layers recompute for as long in
  /// all: max(forward + backward + recompute of all layers / ranks, forward + backward of the
  /// heaviest layer). Cuts that get by with less recomputation may lie below.
  double lower_bound_s = 0;
};
PartitionMetrics partition_metrics(std::span<const cost::LayerCost> layers,
                                   std::span<const StageSummary> stages);

}  // namespace omnibal::metrics
