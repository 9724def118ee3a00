// SPDX-License-Identifier: Apache-2.0
#include "joint/certificate.h"

#include <algorithm>

namespace omnibal::joint {
namespace {

CutMove move_of(const SearchSetting& setting, PlanModel& model, PlanPool& pool,
                const StageEnds& ends, std::size_t cut) {
  CutMove move;
  move.allowed = is_on(setting.grid, ends);
  if (!move.allowed) return move;
  const JudgedPlan* plan = pool.judge(ends);
  move.fits = plan != nullptr;
  move.peak_bytes = model.peak_beside(ends, cut, move.fits ? &plan->choices : nullptr);
  if (!move.fits) return move;
  move.bottleneck_s = setting.scale.seconds(plan->bottleneck);
  move.makespan_s = plan->makespan_s;
  return move;
}

}  // namespace

std::vector<CutReason> cut_reasons(const SearchSetting& setting, PlanModel& model,
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

Certificate certificate_of(const SearchSetting& setting, PlanModel& model, const Bounds& least,
                           const StageEnds& ends, const LayerChoices& choices) {
  const Ticks bottleneck = model.bottleneck_of(ends, choices);
  const Ticks lower = std::min(least.lower, bottleneck);
  const JudgedPlan plan{.ends = ends, .choices = choices, .bottleneck = bottleneck};
  return {.lower_bound_s = setting.scale.seconds(lower),
          .gap = static_cast<double>(bottleneck - lower) /
                 static_cast<double>(std::max<Ticks>(lower, 1)),
          .proven = lower == std::min(least.upper, bottleneck),
          .makespan_bound_s = 0,
          .cuts = cut_reasons(setting, model, plan)};
}

}  // namespace omnibal::joint
