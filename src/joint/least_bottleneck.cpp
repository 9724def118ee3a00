// SPDX-License-Identifier: Apache-2.0
#include "joint/least_bottleneck.h"

#include <algorithm>

namespace omnibal::joint {
namespace {

constexpr Ticks kAnyTime = kNever - 1;

/// No cuts are below: the mean, and the heaviest layer.
Ticks simple_bound(const CutGrid& grid, const StageTables& tables) {
  Ticks bound = (tables.work_from(0) + grid.num_stages - 1) / grid.num_stages;
  for (std::int32_t i = 0; i < grid.num_layers; ++i) {
    bound = std::max(bound, tables.work_before(i + 1) - tables.work_before(i));
  }
  return bound;
}

/// A time below which none of them passes.
Ticks next_time(const std::vector<StageSpan>& blocking, Ticks failed, StageModel& model) {
  if (blocking.empty()) return failed + 1;
  Ticks next = kNever;
  for (const StageSpan& span : blocking) {
    next = std::min(next, model.rough_busy(span).lower);
  }
  return std::max(next, failed + 1);
}

/// Least time for which all stages pass, if `time_of` says what a stage takes. Between `low` (no
/// less is possible) and `high` (possible).
Ticks bisect(const CutGrid& grid, StageModel& model, Ticks Bounds::*which, Ticks low, Ticks high,
             StageEnds* ends) {
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    CutSearch found = cuts_passing(
        grid, [&](const StageSpan& span) { return model.is_within(span, middle, which); });
    if (found.ends) {
      high = middle;
      if (ends == nullptr) continue;
      *ends = *std::move(found.ends);
      high = bottleneck_of(*ends, model);
    } else {
      low = std::min(next_time(found.blocking, middle, model), high);
    }
  }
  return high;
}

}  // namespace

Ticks bottleneck_of(const StageEnds& ends, StageModel& model) {
  Ticks slowest = 0;
  for (const StageSpan& span : stage_spans(ends)) {
    slowest = std::max(slowest, model.busy(span, kAnyTime).upper);
  }
  return slowest;
}

std::optional<LeastBottleneck> least_bottleneck(const CutGrid& grid, StageModel& model) {
  const std::int64_t limit = model.tables().limit_bytes();
  CutSearch any = cuts_passing(
      grid, [&](const StageSpan& span) { return model.least_peak_bytes(span) <= limit; });
  if (!any.ends) return std::nullopt;
  LeastBottleneck least{*std::move(any.ends), {}};
  const Ticks low = simple_bound(grid, model.tables());
  const Ticks start = bottleneck_of(least.ends, model);
  least.bottleneck.upper = bisect(grid, model, &Bounds::upper, low, start, &least.ends);
  least.bottleneck.lower = least.bottleneck.upper;
  // Where a stage might be faster than any recomputation that was found for it, so might the whole.
  if (model.was_cut_off()) {
    least.bottleneck.lower =
        bisect(grid, model, &Bounds::lower, low, least.bottleneck.upper, nullptr);
  }
  return least;
}

}  // namespace omnibal::joint
