// SPDX-License-Identifier: Apache-2.0
#include "omnibal/recompute/bar.h"

#include <fmt/format.h>

#include "omnibal/base/quantity.h"
#include "recompute/stage_search.h"

namespace omnibal::recompute {
namespace {

struct LayerSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

LayerSpan layers_of_stage(const BarProblem& problem, std::size_t stage) {
  return {stage == 0 ? 0 : static_cast<std::size_t>(problem.cuts[stage - 1]),
          stage == problem.cuts.size() ? problem.layers.size()
                                       : static_cast<std::size_t>(problem.cuts[stage])};
}

/// The stage that is farthest above the limit; of equals the first.
struct Shortage {
  std::size_t stage = 0;
  std::int64_t peak_bytes = 0;

  void consider(std::size_t other_stage, std::int64_t other_peak_bytes) {
    if (other_peak_bytes > peak_bytes) *this = {other_stage, other_peak_bytes};
  }
};

Error infeasible(const Shortage& shortage, std::int64_t limit, std::string_view with_what) {
  const std::int64_t missing = shortage.peak_bytes - limit;
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("stage {} does not fit: {} it misses {} bytes ({})", shortage.stage,
                           with_what, missing, format_bytes(missing)))
      .at_key(fmt::format("stages[{}].peak_bytes", shortage.stage))
      .with_value(shortage.peak_bytes)
      .with_limit(limit)
      .with_hint(fmt::format("raise --memory to {} bytes ({} more), use more stages, or lower the "
                             "load of a micro-batch",
                             shortage.peak_bytes, format_bytes(missing)));
}

}  // namespace

Result<RecomputeMask> bar(const BarProblem& problem, const MemoryProbe& probe) {
  RecomputeMask mask = recompute_none(problem.layers.size());
  Shortage shortage;
  for (std::size_t stage = 0; stage <= problem.cuts.size(); ++stage) {
    const LayerSpan layers = layers_of_stage(problem, stage);
    StageSearch search(problem, StageIndex{static_cast<std::int32_t>(stage)}, layers.begin,
                       layers.end, probe);
    if (!search.choose(mask)) shortage.consider(stage, search.least_peak_bytes());
  }
  if (shortage.peak_bytes > 0) {
    return infeasible(shortage, problem.memory_limit_bytes, "even with the best recomputation");
  }
  return mask;
}

Status check_memory(const BarProblem& problem, const RecomputeMask& mask,
                    const MemoryProbe& probe) {
  Shortage shortage;
  for (std::size_t stage = 0; stage <= problem.cuts.size(); ++stage) {
    const std::int64_t peak = probe(StageIndex{static_cast<std::int32_t>(stage)}, mask);
    if (peak > problem.memory_limit_bytes) shortage.consider(stage, peak);
  }
  if (shortage.peak_bytes > 0) {
    return infeasible(shortage, problem.memory_limit_bytes, "with this recomputation");
  }
  return {};
}

}  // namespace omnibal::recompute
