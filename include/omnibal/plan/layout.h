// SPDX-License-Identifier: Apache-2.0
//
// Layouts: where the vision tower runs. Its layers in the pipeline (integrated), on the devices of
// the language pipeline beside their stages (colocated), or on devices of its own (disjoint).
//
//   request.layouts = {Layout::kColocated, Layout::kDisjoint};     // of a PlanRequest
//   plan.layouts->ranked.front().layout;                           // that of the shortest step
//   plan.layouts->ranked.back().reason;                            // what it loses by
//
// Not plans: a plan is integrated. The others are predicted for its packs and steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/partition/partition.h"
#include "omnibal/plan/schedule_spec.h"
#include "omnibal/plan/time_shares.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/layout.h"

namespace omnibal::plan {

enum class Layout { kIntegrated, kColocated, kDisjoint };
std::string_view to_string(Layout layout);  // "integrated", "colocated", "disjoint"

/// A tower that is a stage spread over ranks.
struct SpreadTower {
  schedule::VisionPlace place = schedule::VisionPlace::kBefore;
  std::int64_t tp = 1;     // devices that share a vision unit
  std::int64_t ranks = 1;  // of each pipeline that run it
};

struct LayoutPrediction {
  Layout layout = Layout::kIntegrated;
  std::optional<SpreadTower> tower;  // absent: its layers are pipeline layers
  ScheduleSpec schedule;             // of the pipeline, of language layers alone beside a tower
  partition::Cuts cuts;              // of all layers; a tower is all before the first
  recompute::RecomputeMask recompute;
  double step_s = 0;            // mean over the epoch
  double gpu_days = 0;          // of an epoch
  std::int64_t peak_bytes = 0;  // of the fullest rank, at the caps
  TimeShares shares;
  std::string reason = {};  // of the best: where its time goes; of the others: why they lose
};

/// A layout that was asked for and cannot run.
struct RefusedLayout {
  Layout layout = Layout::kColocated;
  std::string reason;
};

struct LayoutComparison {
  std::vector<LayoutPrediction> ranked;  // best first, the plan's own among them
  std::vector<RefusedLayout> refused;
};

/// {best, ranked[], refused[]}; docs/formats.md.
codec::Json to_json(const LayoutComparison& comparison);

}  // namespace omnibal::plan
