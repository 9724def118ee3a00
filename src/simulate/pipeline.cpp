// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/pipeline.h"

#include "simulate/execute.h"

namespace omnibal::simulate {

using schedule::Action;
using schedule::ActionKind;
using schedule::Schedule;

PipelineTimes PipelineTimes::zeros(std::int32_t num_stages, std::int32_t num_micro_batches) {
  const std::size_t cells =
      static_cast<std::size_t>(num_stages) * static_cast<std::size_t>(num_micro_batches);
  const std::vector<double> none(cells, 0.0);
  return {num_stages, num_micro_batches, none, none, none, none, none, none};
}

namespace {

/// Whether the action needs what a neighbouring stage made.
bool waits(const Schedule& schedule, const Action& action) {
  const std::int32_t stage = action.stage.value();
  if (action.kind == ActionKind::kForward) return stage > 0;
  return action.kind == ActionKind::kBackward && stage + 1 < schedule.num_stages;
}

}  // namespace

Result<CompiledSchedule> compile(const Schedule& schedule) {
  OMNIBAL_RETURN_IF_ERROR(validate(schedule));
  CompiledSchedule compiled{schedule.num_stages,
                            schedule.num_micro_batches,
                            static_cast<std::int32_t>(schedule.ranks.size()),
                            has_weight_grads(schedule),
                            {},
                            {}};
  for (const RankIndex rank : schedule.stage_rank) compiled.stage_rank.push_back(rank.value());
  for (const RankIndex rank : schedule.spread_ranks) compiled.spread_ranks.push_back(rank.value());
  for (const schedule::ActionPosition& position : execution_order(schedule)) {
    const Action& action = schedule.ranks[static_cast<std::size_t>(position.rank)]
                                         [static_cast<std::size_t>(position.index)];
    if (!is_compute(action.kind)) continue;
    const std::int32_t stage = action.stage.value();
    compiled.steps.push_back({action.micro_batch.value() * schedule.num_stages + stage,
                              position.rank, action.kind, waits(schedule, action)});
  }
  return compiled;
}

Timeline simulate(const CompiledSchedule& schedule, const PipelineTimes& times) {
  Timeline timeline;
  timeline.ranks.resize(static_cast<std::size_t>(schedule.num_ranks));
  timeline.makespan_s = execute(
      schedule, times, [&](const CompiledSchedule::Step& step, double start_s, double end_s) {
        const Action action{step.kind, StageIndex{step.cell % schedule.num_stages},
                            MicroBatchIndex{step.cell / schedule.num_stages}};
        const double recompute_s = step.kind == ActionKind::kBackward
                                       ? times.recompute_s[static_cast<std::size_t>(step.cell)]
                                       : 0.0;
        timeline.ranks[static_cast<std::size_t>(step.rank)].push_back(
            {action, start_s, end_s, recompute_s});
      });
  return timeline;
}

double makespan(const CompiledSchedule& schedule, const PipelineTimes& times) {
  return execute(schedule, times, [](const CompiledSchedule::Step&, double, double) {});
}

std::vector<double> gradients_done(const CompiledSchedule& schedule, const PipelineTimes& times) {
  std::vector<double> done(static_cast<std::size_t>(schedule.num_stages), 0.0);
  execute(schedule, times, [&](const CompiledSchedule::Step& step, double, double end_s) {
    double& latest = done[static_cast<std::size_t>(step.cell % schedule.num_stages)];
    latest = std::max(latest, end_s);
  });
  return done;
}

}  // namespace omnibal::simulate
