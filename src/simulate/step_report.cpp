// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/step_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace omnibal::simulate {
namespace {

Status check_counts(const StepCase& step) {
  if (static_cast<std::int64_t>(step.cuts.size()) + 1 != step.schedule.num_stages) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{} stages need {} cuts", step.schedule.num_stages,
                             step.schedule.num_stages - 1))
        .at_key("cuts")
        .with_value(static_cast<std::int64_t>(step.cuts.size()));
  }
  for (const std::vector<cost::Load>& loads : step.loads) {
    if (static_cast<std::int64_t>(loads.size()) == step.schedule.num_micro_batches) continue;
    return Error(ErrorCode::kInvalidArgument, "there is not one load a micro-batch")
        .at_key("loads")
        .with_value(static_cast<std::int64_t>(loads.size()))
        .with_limit(std::int64_t{step.schedule.num_micro_batches});
  }
  return {};
}

/// The parts of the largest loads together: costs grow with each.
cost::Load largest_load(const StepCase& step) {
  cost::Load largest;
  for (const std::vector<cost::Load>& loads : step.loads) {
    for (const cost::Load& load : loads) {
      largest.vision_units = std::max(largest.vision_units, load.vision_units);
      largest.tokens = std::max(largest.tokens, load.tokens);
      largest.token_pairs = std::max(largest.token_pairs, load.token_pairs);
    }
  }
  return largest;
}

}  // namespace

Result<StepReport> report_step(const StepCase& step) {
  OMNIBAL_RETURN_IF_ERROR(check_counts(step));
  OMNIBAL_RETURN_IF_ERROR(
      cost::check_bytes(step.profile, largest_load(step), step.schedule.num_micro_batches));
  OMNIBAL_ASSIGN(const CompiledSchedule compiled, compile(step.schedule));
  const std::vector<StageCost> stages = stage_costs(step.profile, step.cuts, step.recompute);
  StepReport report;
  std::vector<PipelineTimes> pipelines;
  for (std::size_t rank = 0; rank < step.loads.size(); ++rank) {
    const std::span<const cluster::Link> links =
        step.links.empty() ? std::span<const cluster::Link>() : step.links[rank];
    pipelines.push_back(pipeline_times(stages, links, step.loads[rank]));
    report.timelines.push_back(simulate(compiled, pipelines.back()));
    report.memory.push_back(
        memory_of_ranks(step.schedule, step.profile, step.cuts, step.recompute, step.loads[rank]));
    for (const std::vector<ActionMemory>& actions : report.memory.back()) {
      report.peak_bytes.push_back(
          std::ranges::max(actions, {}, &ActionMemory::during_bytes).during_bytes);
    }
  }
  OMNIBAL_ASSIGN(report.step, simulate_step(compiled, pipelines, step.end));
  return report;
}

}  // namespace omnibal::simulate
