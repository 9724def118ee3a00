// SPDX-License-Identifier: Apache-2.0
#include "joint/certificate.h"

#include <algorithm>

namespace omnibal::joint {
namespace {

CutMove move_of(const SearchSetting& setting, StageModel& model, PlanPool& pool,
                const StageEnds& ends, std::size_t cut) {
  CutMove move;
  move.allowed = is_on(setting.grid, ends);
  if (!move.allowed) return move;
  const std::vector<StageSpan> spans = stage_spans(ends);
  const JudgedPlan* plan = pool.judge(ends);
  move.fits = plan != nullptr;
  for (const StageSpan& span : {spans[cut], spans[cut + 1]}) {
    const std::int64_t peak =
        move.fits ? peak_bytes(model.tables(), setting.problem.layers, span, plan->choices)
                  : model.least_peak_bytes(span);
    move.peak_bytes = std::max(move.peak_bytes, peak);
  }
  if (!move.fits) return move;
  move.bottleneck_s = setting.scale.seconds(plan->bottleneck);
  move.makespan_s = plan->makespan_s;
  return move;
}

}  // namespace

std::vector<CutReason> cut_reasons(const SearchSetting& setting, StageModel& model,
                                   const JudgedPlan& plan) {
  PlanPool pool(setting, model);
  std::vector<CutReason> reasons;
  for (std::size_t c = 0; c + 1 < plan.ends.size(); ++c) {
    StageEnds left = plan.ends;
    StageEnds right = plan.ends;
    --left[c];
    ++right[c];
    reasons.push_back({LayerIndex{plan.ends[c]}, move_of(setting, model, pool, left, c),
                       move_of(setting, model, pool, right, c)});
  }
  return reasons;
}

}  // namespace omnibal::joint
