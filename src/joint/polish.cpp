// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "joint/plan_pool.h"

namespace omnibal::joint {
namespace {

/// Cuts [first, last] move by `layers`; besides, cut `other` by `other_layers`.
struct Move {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int32_t layers = 0;
  std::size_t other = 0;
  std::int32_t other_layers = 0;
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

void add_pairs(std::size_t num_cuts, std::vector<Move>& all) {
  for (std::size_t a = 0; a < num_cuts; ++a) {
    for (std::size_t b = a + 1; b < num_cuts; ++b) {
      for (const std::int32_t layers : {-1, 1}) {
        for (const std::int32_t other : {-1, 1}) all.push_back({a, a, layers, b, other});
      }
    }
  }
}

StageEnds moved(StageEnds ends, const Move& move) {
  for (std::size_t c = move.first; c <= move.last; ++c) ends[c] += move.layers;
  ends[move.other] += move.other_layers;
  return ends;
}

std::int64_t most_judged(const JointProblem& problem) {
  const std::int64_t actions = std::int64_t{2} * problem.num_stages * problem.num_micro_batches;
  return std::max<std::int64_t>(kMostActions / actions, 32);
}

}  // namespace

StageEnds polish_path(PlanPool& pool, StageEnds ends, Ticks bound, std::int64_t& effort) {
  std::vector<Move> all = moves(ends.size() - 1);
  add_pairs(ends.size() - 1, all);
  PlanTimes times = pool.times_of(ends);
  std::size_t without_gain = 0;
  for (std::size_t m = 0; without_gain < all.size() && effort > 0; m = (m + 1) % all.size()) {
    if (times.path <= bound) break;
    ++without_gain;
    --effort;
    StageEnds other = moved(ends, all[m]);
    if (pool.rough_path_of(other) > times.path) continue;
    const PlanTimes other_times = pool.times_of(other);
    if (other_times >= times) continue;
    ends = std::move(other);
    times = other_times;
    without_gain = 0;
  }
  return ends;
}

StageEnds polish_by(const CutGrid& grid, StageEnds ends,
                    const std::function<std::int64_t(const StageEnds&)>& score, std::int64_t enough,
                    std::int64_t& effort) {
  const std::vector<Move> all = moves(ends.size() - 1);
  std::int64_t least = score(ends);
  std::size_t without_gain = 0;
  for (std::size_t m = 0; without_gain < all.size() && effort > 0; m = (m + 1) % all.size()) {
    if (least <= enough) break;
    ++without_gain;
    StageEnds other = moved(ends, all[m]);
    if (!is_on(grid, other)) continue;
    --effort;
    const std::int64_t other_score = score(other);
    if (other_score >= least) continue;
    ends = std::move(other);
    least = other_score;
    without_gain = 0;
  }
  return ends;
}

void polish(PlanPool& pool, const SearchSetting& setting, JudgedPlan plan) {
  const std::int64_t most = most_judged(setting.problem);
  const std::vector<Move> all = moves(plan.ends.size() - 1);
  std::size_t without_gain = 0;
  for (std::size_t m = 0; without_gain < all.size(); m = (m + 1) % all.size()) {
    if (pool.num_judged() >= most) return;
    ++without_gain;
    const JudgedPlan* other = pool.judge(moved(plan.ends, all[m]));
    if (other == nullptr || !pool.is_better(*other, plan)) continue;
    plan = *other;
    without_gain = 0;
  }
}

}  // namespace omnibal::joint
