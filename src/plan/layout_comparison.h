// SPDX-License-Identifier: Apache-2.0
//
// The layouts beside a plan, each with cuts and recomputation of its own, on the plan's packs.
#pragma once

#include <span>

#include "omnibal/model/model.h"
#include "omnibal/plan/planner.h"

namespace omnibal::plan {

struct LayoutTask {
  const model::ModelSpec& model;
  const PlanRequest& request;
  const Plan& plan;               // predicted
  std::span<const Layout> asked;  // beside the plan's own
  cost::Load placed;              // of all samples
};

/// Each layout with every place of the tower, tower tp 1 and the plan's, vision ranks (disjoint:
/// taken from the plan's pipeline ranks), quarters of the tower that recompute, and the plan's
/// schedule or 1F1B: language layers are cut jointly in the memory that the tower leaves, all are
/// judged by a few steps of the plan, the best of each place by all of them. The steps keep their
/// order of micro-batches. Error: those of analytic_profile.
Result<LayoutComparison> compare_layouts(const LayoutTask& task);

}  // namespace omnibal::plan
