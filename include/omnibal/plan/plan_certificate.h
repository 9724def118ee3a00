// SPDX-License-Identifier: Apache-2.0
//
// PlanCertificate: how far the slowest rank of a plan can be from the best one, and for each cut
// what becomes of a step if it moves by a layer.
//
//   plan.certificate.gap;                          // 0: no cuts and recomputation do better
//   plan.certificate.cuts[0].right.makespan_s;     // the first cut a layer later
//   document["certificate"] = to_json(plan.certificate);
//
// Not a bound on a step of unlike micro-batches: that is Plan::bound_gpu_days.
#pragma once

#include <vector>

#include "omnibal/codec/json.h"
#include "omnibal/joint/joint.h"

namespace omnibal::plan {

/// Seconds of ranks are those of the mean pack, seconds of a step the mean over the few steps by
/// which cuts are judged, bytes those of a full pack.
struct PlanCertificate {
  double lower_bound_s = 0;  // no plan's slowest rank is faster
  double bottleneck_s = 0;   // the slowest rank of the plan
  double gap = 0;            // bottleneck_s / lower_bound_s - 1
  bool proven = false;       // lower_bound_s is the least bottleneck itself
  double step_s = 0;         // of the plan
  std::vector<joint::CutReason> cuts;
};

/// {lower_bound_s, bottleneck_s, gap, proven, step_s, cuts[] {cut, left, right}}.
codec::Json to_json(const PlanCertificate& certificate);

}  // namespace omnibal::plan
