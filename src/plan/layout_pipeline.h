// SPDX-License-Identifier: Apache-2.0
//
// A language pipeline beside a spread tower: its cuts and recomputation, and what it is simulated
// as.
#pragma once

#include "omnibal/plan/epoch.h"
#include "plan/layout_comparison.h"
#include "plan/spread_tower.h"

namespace omnibal::plan {

/// What is fixed before the language layers are cut.
struct TowerChoice {
  SpreadTower tower;
  ScheduleSpec schedule;  // of the language pipeline
  double recompute = 0;   // part of the tower's layers that recompute, the first ones
};

struct LayoutPipeline {
  TowerChoice choice;
  cost::Profile profile;        // of all layers
  schedule::Schedule schedule;  // the tower's stage in front
  partition::Cuts cuts;         // of all layers
  recompute::RecomputeMask recompute;
  std::int64_t peak_bytes = 0;  // of the fullest rank, a full pack in every micro-batch
  double judged_s = 0;          // mean over a few of the plan's steps
  PlanCertificate certificate;  // of the language pipeline alone; cuts of all layers
};

/// The profile of all layers with the tower as chosen, collectives of tensor parallelism timed or
/// not.
Result<cost::Profile> profile_of_tower(const LayoutTask& task, const SpreadTower& tower,
                                       bool tensor_links);

/// Cuts the language layers jointly within the memory that the tower leaves. Errors: those of
/// choose_jointly; kMemoryInfeasible.
Result<LayoutPipeline> cut_language(const LayoutTask& task, const TowerChoice& choice);

/// Ready to be simulated, on the plan's links.
Result<StepPipeline> pipeline_of(const Plan& plan, const LayoutPipeline& pipeline);

}  // namespace omnibal::plan
