// SPDX-License-Identifier: Apache-2.0
#include "joint/shortage.h"

#include <fmt/format.h>

#include <algorithm>

#include "joint/models.h"
#include "omnibal/base/quantity.h"

namespace omnibal::joint {
namespace {

constexpr std::int32_t kMostTimesTheStages = 4;

/// Whether any cuts into `num_stages` stages fit.
bool fits(JointProblem problem, std::int32_t num_stages) {
  const Result<schedule::Schedule> schedule =
      schedule::make_schedule(problem.schedule, num_stages, problem.num_micro_batches);
  if (!schedule) return false;
  problem.num_stages = num_stages;
  problem.in_flight = in_flight(*schedule);
  const Result<CutGrid> grid = cut_grid(problem);
  if (!grid) return false;
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  return std::ranges::any_of(stage_models(problem, tables, scale), [&](const auto& model) {
    return cuts_passing(*grid,
                        [&](const StageSpan& span) {
                          return model->least_peak_bytes(span) <= tables.limit_bytes();
                        })
        .ends.has_value();
  });
}

}  // namespace

LeastLimit largest_peak(const std::vector<StageSpan>& spans, const StagePeak& peak_of) {
  LeastLimit largest{-1, 0};
  for (const StageSpan& span : spans) {
    const std::int64_t peak = peak_of(span);
    if (peak > largest.bytes) largest = {peak, span.stage};
  }
  return largest;
}

StageEnds least_full_cuts(const CutGrid& grid, const StagePeak& peak_of) {
  const auto cuts_within = [&](std::int64_t limit) {
    return cuts_passing(grid, [&](const StageSpan& span) { return peak_of(span) <= limit; }).ends;
  };
  const std::int32_t last = grid.num_stages - 1;
  std::int64_t low = 0;
  std::int64_t high = 0;  // enough for anything: all layers on each stage
  for (std::int32_t s = 0; s <= last; ++s) {
    high = std::max(high, peak_of({s, 0, grid.num_layers}));
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (const std::optional<StageEnds> ends = cuts_within(middle)) {
      high = largest_peak(stage_spans(*ends), peak_of).bytes;
    } else {
      low = middle + 1;
    }
  }
  return *cuts_within(high);
}

LeastLimit least_limit(const CutGrid& grid, const StageModel& model) {
  const auto peak_of = [&](const StageSpan& span) { return model.least_peak_bytes(span); };
  return largest_peak(stage_spans(least_full_cuts(grid, peak_of)), peak_of);
}

std::string what_is_chosen(const JointProblem& problem, Chosen chosen) {
  const bool none = std::ranges::all_of(
      problem.layers, [](const JointLayer& layer) { return layer.choices.empty(); });
  const bool all = problem.constraints.recompute_everything;
  if (chosen == Chosen::kGivenCuts) {
    return none  ? "without recomputation"
           : all ? "with all recomputed"
                 : "with the best recomputation";
  }
  std::string text = none || all ? "with the best cuts" : "with the best cuts and recomputation";
  if (chosen == Chosen::kCutsFound) text += " found";
  if (none) text += ", nothing recomputed,";
  if (all) text += ", everything recomputed,";
  return text;
}

std::string more_recomputation(const JointProblem& problem) {
  const bool none = std::ranges::all_of(
      problem.layers, [](const JointLayer& layer) { return layer.choices.empty(); });
  return none ? ", let layers recompute (no --recompute none)" : "";
}

Error does_not_fit(const JointProblem& problem, const LeastLimit& least, Chosen chosen) {
  const std::int64_t limit = *problem.memory_limit_bytes;
  const std::int64_t missing = least.bytes - limit;
  std::string hint = fmt::format("raise --memory to {} ({} more)", counted(least.bytes, "byte"),
                                 format_bytes(missing)) +
                     more_recomputation(problem);
  const auto num_layers = static_cast<std::int32_t>(problem.layers.size());
  const std::int32_t most = std::min(num_layers, kMostTimesTheStages * problem.num_stages);
  for (std::int32_t stages = problem.num_stages + 1; stages <= most; ++stages) {
    if (!fits(problem, stages)) continue;
    hint += fmt::format(", or use {} stages", stages);
    break;
  }
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("stage {} does not fit: even {} it misses {} ({})", least.stage,
                           what_is_chosen(problem, chosen), counted(missing, "byte"),
                           format_bytes(missing)))
      .at_key(fmt::format("stages[{}].peak_bytes", least.stage))
      .with_value(least.bytes)
      .with_limit(limit)
      .with_hint(hint + ", or lower the load of a micro-batch");
}

}  // namespace omnibal::joint
