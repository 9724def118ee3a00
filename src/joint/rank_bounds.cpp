// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_bounds.h"

#include <algorithm>

namespace omnibal::joint {

Ticks simple_bottleneck(const RankSearch& search) {
  const auto ranks = static_cast<Ticks>(search.layout.ranks.size());
  Ticks bound = (search.tables.work_from(0) + ranks - 1) / ranks;
  for (std::int32_t i = 0; i < search.tables.num_layers(); ++i) {
    bound = std::max(bound, search.tables.work_before(i + 1) - search.tables.work_before(i));
  }
  return bound;
}

Ticks simple_path(const RankSearch& search) {
  const StageTables& tables = search.tables;
  const auto ranks = static_cast<std::int32_t>(search.layout.ranks.size());
  Ticks before = 0;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    before += tables.forward_before(rank);
    if (!search.layout.splits) before += tables.backward_before(rank);
  }
  const Ticks micro_batches = search.setting.problem.num_micro_batches;
  return (before + micro_batches * tables.work_from(0)) / ranks;
}

PlanBounds bounds_of(const RankSearch& search, const std::vector<StageEnds>& all) {
  PlanBounds bounds{{kNever, kNever}, kNever};
  Ticks without_limit = kNever;
  for (const StageEnds& ends : all) {
    const PlanTimes free = search.plan.free_times_of(ends);
    bounds.path = std::min(bounds.path, free.path);
    without_limit = std::min(without_limit, free.bottleneck);
    const PlanTimes times = search.plan.times_of(ends);
    if (times.path >= kNever) continue;
    bounds.bottleneck.upper = std::min(bounds.bottleneck.upper, times.bottleneck);
  }
  bounds.bottleneck.lower = search.plan.was_cut_off() ? without_limit : bounds.bottleneck.upper;
  return bounds;
}

}  // namespace omnibal::joint
