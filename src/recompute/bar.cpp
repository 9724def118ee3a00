// SPDX-License-Identifier: Apache-2.0
#include "omnibal/recompute/bar.h"

#include <fmt/format.h>

#include <algorithm>

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

/// Rank of a stage: its own where none is given.
std::int32_t rank_of(const BarProblem& problem, std::size_t stage) {
  return problem.stage_rank.empty() ? static_cast<std::int32_t>(stage)
                                    : problem.stage_rank[stage].value();
}

/// The stage that is farthest above the limit; of equals the first.
struct Shortage {
  std::size_t stage = 0;
  std::int64_t peak_bytes = 0;

  void consider(std::size_t other_stage, std::int64_t other_peak_bytes) {
    if (other_peak_bytes > peak_bytes) *this = {other_stage, other_peak_bytes};
  }
};

Error infeasible(const BarProblem& problem, const Shortage& shortage, std::string_view with_what) {
  const std::int64_t limit = problem.memory_limit_bytes;
  const std::int64_t missing = shortage.peak_bytes - limit;
  const std::string_view device = problem.stage_rank.empty() ? "stage" : "rank";
  const std::int32_t index = rank_of(problem, shortage.stage);
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("{} {} does not fit: {} it misses {} bytes ({})", device, index,
                           with_what, missing, format_bytes(missing)))
      .at_key(fmt::format("{}s[{}].peak_bytes", device, index))
      .with_value(shortage.peak_bytes)
      .with_limit(limit)
      .with_hint(fmt::format("raise --memory to {} bytes ({} more), use more stages, or lower the "
                             "load of a micro-batch",
                             shortage.peak_bytes, format_bytes(missing)));
}

/// Chooses for one stage in a mask of the whole model. False: nothing fits.
bool choose_stage(const BarProblem& problem, std::size_t stage, const MemoryProbe& probe,
                  RecomputeMask& mask, Shortage& shortage) {
  const LayerSpan layers = layers_of_stage(problem, stage);
  for (std::size_t i = layers.begin; i < layers.end; ++i) mask[i] = false;
  const RecomputeMask around = mask;
  StageSearch search(problem, StageIndex{static_cast<std::int32_t>(stage)}, layers.begin,
                     layers.end, probe, around);
  if (search.choose(mask)) return true;
  shortage.consider(stage, search.least_peak_bytes());
  return false;
}

/// Stages of one rank, the last first; everything recomputes on those not yet chosen, layers that
/// are neither ViT nor LLM only `with_others`.
bool choose_rank(const BarProblem& problem, std::int32_t rank, bool with_others,
                 const MemoryProbe& probe, RecomputeMask& mask, Shortage& shortage) {
  std::vector<std::size_t> stages;
  for (std::size_t stage = problem.cuts.size() + 1; stage-- > 0;) {
    if (rank_of(problem, stage) == rank) stages.push_back(stage);
  }
  for (const std::size_t stage : stages) {
    const LayerSpan layers = layers_of_stage(problem, stage);
    for (std::size_t i = layers.begin; i < layers.end; ++i) {
      mask[i] = problem.layers[i].can_recompute &&
                (with_others || problem.layers[i].layer_class != LayerClass::kOther);
    }
  }
  return std::ranges::all_of(stages, [&](std::size_t stage) {
    return choose_stage(problem, stage, probe, mask, shortage);
  });
}

}  // namespace

Result<RecomputeMask> bar(const BarProblem& problem, const MemoryProbe& probe) {
  RecomputeMask mask = recompute_none(problem.layers.size());
  Shortage shortage;
  std::int32_t num_ranks = 0;
  for (std::size_t stage = 0; stage <= problem.cuts.size(); ++stage) {
    num_ranks = std::max(num_ranks, rank_of(problem, stage) + 1);
  }
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    Shortage of_rank;
    if (choose_rank(problem, rank, false, probe, mask, of_rank)) continue;
    Shortage with_others;
    if (choose_rank(problem, rank, true, probe, mask, with_others)) continue;
    const Shortage& less = with_others.peak_bytes < of_rank.peak_bytes ? with_others : of_rank;
    shortage.consider(less.stage, less.peak_bytes);
  }
  if (shortage.peak_bytes > 0) {
    return infeasible(problem, shortage, "even with the best recomputation");
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
    return infeasible(problem, shortage, "with this recomputation");
  }
  return {};
}

}  // namespace omnibal::recompute
