// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_starts.h"

#include <algorithm>
#include <cstdlib>

#include "joint/models.h"
#include "joint/shortage.h"

namespace omnibal::joint {
namespace {

/// How many moves are tried to make a plan fit.
constexpr std::int64_t kMostFitted = 1'000;

}  // namespace

LeastBottleneck fastest_stages(const RankSearch& search) {
  JointProblem free = search.setting.problem;
  free.memory_limit_bytes.reset();
  free.constraints.recompute_everything = false;
  const StageTables tables(free, search.setting.scale);
  const auto models = stage_models(free, tables, search.setting.scale);
  return *least_bottleneck(search.setting.grid, *models.front());
}

StageEnds least_full_stages(const RankSearch& search) {
  JointProblem freely = search.setting.problem;
  freely.constraints.recompute_everything = false;
  const CutGrid& grid = search.setting.grid;
  const auto models = stage_models(freely, search.tables, search.setting.scale);
  const std::int64_t least = least_limit(grid, *models.front()).bytes;
  return *cuts_passing(grid, [&](const StageSpan& span) {
            return models.front()->least_peak_bytes(span) <= least;
          }).ends;
}

/// Cuts near even shares of the work, what a rank got too much of in its first stages taken off its
/// later ones.
StageEnds evened_ranks(const RankSearch& search) {
  const CutGrid& grid = search.setting.grid;
  const StageTables& tables = search.tables;
  const Ticks share = tables.work_from(0) / grid.num_stages;
  std::vector<Ticks> surplus(search.layout.ranks.size(), 0);  // that a rank has so far
  StageEnds ends;
  Ticks corrected = 0;  // of the stages before, in this round over the ranks
  for (std::int32_t s = 0; s < grid.num_stages; ++s) {
    const std::int32_t begin = ends.empty() ? 0 : ends.back();
    Ticks& of_rank = surplus[search.layout.rank_of(static_cast<std::size_t>(s))];
    corrected -= of_rank;
    const Ticks wanted = share * (s + 1) + corrected;
    std::int32_t end = std::min(begin + 1, grid.latest_end(s));
    const auto distance = [&](std::int32_t at) {
      return std::abs(tables.work_before(at) - wanted);
    };
    while (end < grid.latest_end(s) && distance(end + 1) < distance(end)) ++end;
    if (s + 1 == grid.num_stages) end = grid.num_layers;
    of_rank += tables.work_before(end) - tables.work_before(begin) - share;
    ends.push_back(end);
  }
  return ends;
}

StageEnds moved_to_fit(const RankSearch& search, const std::vector<StageEnds>& starts) {
  const auto bytes = [&](const StageEnds& ends) { return search.plan.fullest_rank(ends).bytes; };
  StageEnds least = *std::ranges::min_element(starts, {}, bytes);
  std::int64_t effort = kMostFitted;
  return polish_by(search.setting.grid, std::move(least), bytes, search.tables.limit_bytes(),
                   effort);
}

}  // namespace omnibal::joint
