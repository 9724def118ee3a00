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

LeastLimit largest_peak(const std::vector<StageSpan>& spans, const StageModel& model) {
  LeastLimit largest{-1, 0};
  for (const StageSpan& span : spans) {
    const std::int64_t peak = model.least_peak_bytes(span);
    if (peak > largest.bytes) largest = {peak, span.stage};
  }
  return largest;
}

LeastLimit least_limit(const CutGrid& grid, const StageModel& model) {
  const auto cuts_within = [&](std::int64_t limit) {
    return cuts_passing(
               grid, [&](const StageSpan& span) { return model.least_peak_bytes(span) <= limit; })
        .ends;
  };
  const std::int32_t last = grid.num_stages - 1;
  std::int64_t low = 0;
  std::int64_t high = 0;  // enough for anything: all layers on each stage
  for (std::int32_t s = 0; s <= last; ++s) {
    high = std::max(high, model.least_peak_bytes({s, 0, grid.num_layers}));
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (const std::optional<StageEnds> ends = cuts_within(middle)) {
      high = largest_peak(stage_spans(*ends), model).bytes;
    } else {
      low = middle + 1;
    }
  }
  return largest_peak(stage_spans(*cuts_within(high)), model);
}

Error does_not_fit(const JointProblem& problem, const LeastLimit& least, std::string_view at_best) {
  const std::int64_t limit = *problem.memory_limit_bytes;
  const std::int64_t missing = least.bytes - limit;
  std::string hint =
      fmt::format("raise --memory to {} bytes ({} more)", least.bytes, format_bytes(missing));
  const auto num_layers = static_cast<std::int32_t>(problem.layers.size());
  const std::int32_t most = std::min(num_layers, kMostTimesTheStages * problem.num_stages);
  for (std::int32_t stages = problem.num_stages + 1; stages <= most; ++stages) {
    if (!fits(problem, stages)) continue;
    hint += fmt::format(", or use {} stages", stages);
    break;
  }
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("stage {} does not fit: even {} it misses {} bytes ({})", least.stage,
                           at_best, missing, format_bytes(missing)))
      .at_key(fmt::format("stages[{}].peak_bytes", least.stage))
      .with_value(least.bytes)
      .with_limit(limit)
      .with_hint(hint + ", or lower the load of a micro-batch");
}

}  // namespace omnibal::joint
