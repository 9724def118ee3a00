// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "joint/plan_pool.h"

namespace omnibal::joint {
namespace {

/// Cuts [first, last] move by `layers`.
struct Move {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int32_t layers = 0;
};

/// Single cuts by one and two, then runs of neighbouring cuts by one, short runs first.
std::vector<Move> moves(std::size_t num_cuts) {
  std::vector<Move> all;
  for (const std::int32_t layers : {-1, 1, -2, 2}) {
    for (std::size_t c = 0; c < num_cuts; ++c) all.push_back({c, c, layers});
  }
  for (std::size_t run = 2; run <= num_cuts; ++run) {
    for (const std::int32_t layers : {-1, 1}) {
      for (std::size_t c = 0; c + run <= num_cuts; ++c) all.push_back({c, c + run - 1, layers});
    }
  }
  return all;
}

StageEnds moved(StageEnds ends, const Move& move) {
  for (std::size_t c = move.first; c <= move.last; ++c) ends[c] += move.layers;
  return ends;
}

std::int64_t most_judged(const JointProblem& problem) {
  const std::int64_t actions = std::int64_t{2} * problem.num_stages * problem.num_micro_batches;
  return std::max<std::int64_t>(kMostActions / actions, 32);
}

}  // namespace

void polish(PlanPool& pool, const SearchSetting& setting, JudgedPlan plan, Ticks bound) {
  const double bound_s = setting.options.alike ? setting.scale.seconds(bound) * (1 + 1e-12) : 0;
  const std::int64_t most = most_judged(setting.problem);
  const std::vector<Move> all = moves(plan.ends.size() - 1);
  std::size_t without_gain = 0;
  for (std::size_t m = 0; without_gain < all.size(); m = (m + 1) % all.size()) {
    if (pool.least_makespan_s() <= bound_s || pool.num_judged() >= most) return;
    ++without_gain;
    const JudgedPlan* other = pool.judge_if_promising(moved(plan.ends, all[m]));
    if (other == nullptr || !pool.is_better(*other, plan)) continue;
    plan = *other;
    without_gain = 0;
  }
}

}  // namespace omnibal::joint
