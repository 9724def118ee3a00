// SPDX-License-Identifier: Apache-2.0
#include "joint/plan_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace omnibal::joint {
namespace {

/// Sums of the same seconds in another order differ by less.
constexpr double kRounding = 1e-12;
constexpr double kCannotRun = std::numeric_limits<double>::infinity();

}  // namespace

PlanTimes PlanPool::times_of(const StageEnds& ends) {
  return is_on(setting_.grid, ends) ? model_.times_of(ends) : PlanTimes{};
}

bool PlanPool::improve(JudgedPlan& plan, LayerChoices choices) {
  const double makespan_s = setting_.evaluate(to_cuts(plan.ends), choices);
  const bool is_first = num_judged_++ == 0;
  if (!(makespan_s < plan.makespan_s * (1 - kRounding))) return false;
  plan.makespan_s = makespan_s;
  plan.choices = std::move(choices);
  plan.bottleneck = model_.bottleneck_of(plan.ends, plan.choices);
  if (is_first || makespan_s < least_makespan_s_) least_makespan_s_ = makespan_s;
  plans_[plan.ends] = plan;
  return true;
}

void PlanPool::offer(const StageEnds& ends, const LayerChoices& choices) {
  const JudgedPlan* own = judge(ends);
  JudgedPlan plan = own != nullptr ? *own : JudgedPlan{ends, {}, 0, kNever, kCannotRun};
  improve(plan, choices);
}

Ticks PlanPool::rough_path_of(const StageEnds& ends) {
  return is_on(setting_.grid, ends) ? model_.rough_path_of(ends) : kNever;
}

const JudgedPlan* PlanPool::judge(const StageEnds& ends) {
  const auto [place, is_new] = plans_.try_emplace(ends);
  if (!is_new) return place->second ? &*place->second : nullptr;
  const PlanTimes times = times_of(ends);
  if (times.path >= kNever) return nullptr;
  JudgedPlan plan{ends, LayerChoices(setting_.problem.layers.size(), 0), times.bottleneck,
                  times.path, 0};
  model_.choose(ends, plan.choices);
  plan.makespan_s = setting_.evaluate(to_cuts(ends), plan.choices);
  ++num_judged_;
  if (num_judged_ == 1 || plan.makespan_s < least_makespan_s_) least_makespan_s_ = plan.makespan_s;
  least_path_ = std::min(least_path_, plan.path);
  place->second = std::move(plan);
  return &*place->second;
}

const JudgedPlan* PlanPool::judge_if_promising(const StageEnds& ends) {
  if (!setting_.options.alike || num_judged_ == 0) return judge(ends);
  const auto known = plans_.find(ends);
  if (known != plans_.end()) return known->second ? &*known->second : nullptr;
  const Ticks path = times_of(ends).path;
  if (setting_.scale.seconds(path) > least_makespan_s_ * (1 + kRounding)) return nullptr;
  return judge(ends);
}

bool PlanPool::is_better(const JudgedPlan& a, const JudgedPlan& b) const {
  const auto rounded = [&](double seconds) {
    return std::isfinite(seconds) ? std::floor(seconds / (least_makespan_s_ * kRounding) + 0.5)
                                  : kCannotRun;
  };
  const double time_a = rounded(a.makespan_s);
  const double time_b = rounded(b.makespan_s);
  return std::tie(time_a, a.bottleneck, a.ends) < std::tie(time_b, b.bottleneck, b.ends);
}

JointPlan to_plan(const JudgedPlan& plan, const TickScale& scale) {
  return {to_cuts(plan.ends), plan.choices, scale.seconds(plan.bottleneck), plan.makespan_s};
}

std::vector<JudgedPlan> PlanPool::ranked() const {
  std::vector<JudgedPlan> ranked;
  for (const auto& [ends, plan] : plans_) {
    if (plan) ranked.push_back(*plan);
  }
  std::ranges::sort(ranked,
                    [&](const JudgedPlan& a, const JudgedPlan& b) { return is_better(a, b); });
  return ranked;
}

}  // namespace omnibal::joint
