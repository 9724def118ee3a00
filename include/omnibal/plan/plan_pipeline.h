// SPDX-License-Identifier: Apache-2.0
//
// The pipeline that a plan directory describes, ready to be simulated: what `simulate DIR` and
// `verify` make from plan.json and profile.json.
//
//   OMNIBAL_ASSIGN(const PlanPipeline pipeline, read_pipeline(plan));
//   step_seconds(pipeline.steps, *plan.steps(), plan.pack_loads(), threads);
//
// Not for choosing anything: planner.h.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/profile.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/partition/partition.h"
#include "omnibal/plan/epoch.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::plan {

struct PlanPipeline {
  cluster::ParallelSizes sizes;
  cluster::ClusterSpec cluster;  // name, nodes, links and rate of the memory only
  schedule::Schedule schedule;
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;    // layers that spare memory at all
  cost::LayerChoices choices;            // how
  std::vector<cost::NamedChoice> named;  // those among them that recompute not all of themselves
  cost::Profile profile;                 // as they do: its recompute_s and recomputed_bytes
  simulate::Reduction update = simulate::Reduction::kNone;
  StepPipeline steps;
};

struct CutsAndChoices {
  partition::Cuts cuts;
  cost::LayerChoices choices;
};

/// `cuts`, `recompute` and `recompute_choice` of an object of plan.json. Errors: kInvalidPlan,
/// kMissingKey, kWrongType, kOutOfRange.
Result<CutsAndChoices> read_cuts_and_choices(const codec::JsonFields& fields,
                                             const cost::Profile& profile, std::int64_t num_stages);

/// What comes out can be simulated: every id of steps.npy is -1 or a pack, pack loads are in
/// range, sums of bytes fit 64 bits. Errors: kInvalidPlan, kMissingKey, kWrongType, kOutOfRange: a
/// key of the model part is absent or wrong, an array holds what cannot be (file and entry are
/// named), or the plan has no model part. O(packs + steps.npy + actions).
Result<PlanPipeline> read_pipeline(const PlanReader& plan);

}  // namespace omnibal::plan
