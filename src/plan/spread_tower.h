// SPDX-License-Identifier: Apache-2.0
//
// The profile of a vision tower that is a stage spread over ranks, with a tensor-parallel size of
// its own and weights that its devices share.
#pragma once

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/cost/profile.h"
#include "omnibal/model/model.h"
#include "omnibal/plan/layout.h"

namespace omnibal::plan {

/// Layers in front of the language model: tower and projector. O(layers).
std::int32_t num_vision_layers(const cost::Profile& profile);

/// The analytic profile of one device. The tp devices of a rank share the vision units of a
/// micro-batch in groups of tower.tp, each with the whole tower. Weights and gradients are sharded
/// over the devices of a node that run it, optimizer states over all of them (arXiv 1910.02054); a
/// device gathers two layers' weights at a time and holds one layer's gradients, counted at the
/// first layer. No layer has named choices: whole layers recompute. Gathering hides behind a
/// layer's computation. `sizes.pp` counts all ranks of a pipeline. `parameters` of the tower are
/// such that a tp-th of them is what a device reduces. Errors: those of analytic_profile.
Result<cost::Profile> spread_profile(const model::ModelSpec& model,
                                     const cluster::ClusterSpec& cluster,
                                     const cost::AnalyticOptions& options,
                                     const cluster::ParallelSizes& sizes, const SpreadTower& tower);

/// Vision units of a micro-batch are shared by whole ones: its time is that of the next multiple.
/// kBefore shares those of all micro-batches of a rank together: 1.
std::int64_t unit_multiple(const SpreadTower& tower, std::int64_t tp);

/// Micro-batches whose vision activations a rank of the language pipeline holds at most.
std::int64_t held_by_language_rank(const SpreadTower& tower, std::int64_t micro_batches);

}  // namespace omnibal::plan
