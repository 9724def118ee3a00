// SPDX-License-Identifier: Apache-2.0
//
// What a stage costs as a function of a micro-batch's load: a profile's layers summed once, so
// that times for millions of loads cost a few multiplications each.
//
//   const std::vector<StageCost> stages = stage_costs(profile, cuts, recompute);
//   const auto links = boundary_links(cluster, {2, 4, 8});       // or {}: links cost nothing
//   const PipelineTimes times = pipeline_times(stages, links, loads);
//
// Not for memory: stage_memory.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/profile.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/simulate/pipeline.h"

namespace omnibal::simulate {

/// The layers of one stage together, and what it hands on.
struct StageCost {
  cost::LinearCost forward_s;
  cost::LinearCost backward_s;      // input + weight gradients
  cost::LinearCost weight_grad_s;   // the part of backward_s that a split backward runs apart
  cost::LinearCost recompute_s;     // of the layers that recompute
  cost::LinearCost boundary_bytes;  // to the next stage; last stage: 0
  cost::LinearCost gradient_bytes;  // back over the same boundary; 0 if nothing before trains
  /// Times are those of the next multiple of so many vision units: devices that share a micro-batch
  /// by whole units wait for the one with most.
  std::int64_t unit_multiple = 1;
};

/// A profile's layers as stages sum them up: for many cuts of one profile.
struct PipelineLayers {
  std::vector<cost::LayerTimes> times;
  std::vector<cost::LinearCost> boundary_bytes;
  std::vector<cost::LinearCost> gradient_bytes;  // back over the boundary behind the layer
};
PipelineLayers pipeline_layers(const cost::Profile& profile);

/// `recompute` may be empty: no layer recomputes. O(layers).
std::vector<StageCost> stage_costs(const PipelineLayers& layers, const partition::Cuts& cuts,
                                   const recompute::RecomputeMask& recompute);
std::vector<StageCost> stage_costs(const cost::Profile& profile, const partition::Cuts& cuts,
                                   const recompute::RecomputeMask& recompute);
/// The same with named choices.
std::vector<StageCost> chosen_stage_costs(const PipelineLayers& layers, const partition::Cuts& cuts,
                                          const cost::LayerChoices& choices);

/// The link behind each of pp - 1 stages, as the tp devices of a stage use it together (each sends
/// its share of the boundary). Devices are numbered as Megatron numbers them: tensor groups stand
/// together, data-parallel ranks next, stages farthest apart; a boundary inside a node uses
/// `inner`, one that leaves it `outer`.
std::vector<cluster::Link> boundary_links(const cluster::ClusterSpec& cluster,
                                          const cluster::ParallelSizes& sizes,
                                          std::int64_t dp_rank = 0);

/// The same for stages dealt out to sizes.pp ranks as `schedule` says; a boundary inside a rank
/// takes no time. Behind a spread stage, whose micro-batches come from several ranks: the slowest
/// of their links. [stages - 1].
std::vector<cluster::Link> boundary_links(const cluster::ClusterSpec& cluster,
                                          const cluster::ParallelSizes& sizes, std::int64_t dp_rank,
                                          const schedule::Schedule& schedule);

/// Times of one pipeline, a load a micro-batch. `links`: one a boundary, or empty: transfers take
/// no time. O(stages x micro-batches).
PipelineTimes pipeline_times(std::span<const StageCost> stages,
                             std::span<const cluster::Link> links,
                             std::span<const cost::Load> loads);
/// The same into `out`, whose memory is used again.
void fill_pipeline_times(std::span<const StageCost> stages, std::span<const cluster::Link> links,
                         std::span<const cost::Load> loads, PipelineTimes& out);

}  // namespace omnibal::simulate
