// SPDX-License-Identifier: Apache-2.0
#include "joint/certificate.h"

#include <algorithm>
#include <vector>

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

}  // namespace

Certificate certificate_of(const SearchSetting& setting, PlanModel& model, const Bounds& least,
                           const JudgedPlan& plan) {
  return {.lower_bound_s = setting.scale.seconds(least.lower),
          .gap = static_cast<double>(plan.bottleneck - least.lower) /
                 static_cast<double>(std::max<Ticks>(least.lower, 1)),
          .proven = least.lower == least.upper,
          .makespan_bound_s = 0,
          .cuts = cut_reasons(setting, model, plan)};
}

Certificate certificate_of(const SearchSetting& setting, PlanModel& model, Bounds least,
                           const StageEnds& ends, const LayerChoices& choices) {
  const Ticks bottleneck = model.bottleneck_of(ends, choices);
  least = {std::min(least.lower, bottleneck), std::min(least.upper, bottleneck)};
  return certificate_of(setting, model, least,
                        {.ends = ends, .choices = choices, .bottleneck = bottleneck});
}

}  // namespace omnibal::joint
