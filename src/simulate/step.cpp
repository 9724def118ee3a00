// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace omnibal::simulate {
namespace {

using Field = std::vector<double> PipelineTimes::*;
/// weight_grad_s is a part of backward_s.
constexpr std::array<Field, 3> kBusyFields = {&PipelineTimes::forward_s, &PipelineTimes::backward_s,
                                              &PipelineTimes::recompute_s};
constexpr std::array<Field, 4> kComputeFields = {
    &PipelineTimes::forward_s, &PipelineTimes::backward_s, &PipelineTimes::weight_grad_s,
    &PipelineTimes::recompute_s};
constexpr std::array<Field, 2> kLinkFields = {&PipelineTimes::activation_s,
                                              &PipelineTimes::gradient_s};

bool has_shape(const PipelineTimes& times, const CompiledSchedule& schedule) {
  const std::size_t cells = static_cast<std::size_t>(schedule.num_stages) *
                            static_cast<std::size_t>(schedule.num_micro_batches);
  const auto full = [&](Field field) { return (times.*field).size() == cells; };
  return times.num_stages == schedule.num_stages &&
         times.num_micro_batches == schedule.num_micro_batches &&
         std::all_of(kComputeFields.begin(), kComputeFields.end(), full) &&
         std::all_of(kLinkFields.begin(), kLinkFields.end(), full);
}

Status check_shapes(const CompiledSchedule& schedule, std::span<const PipelineTimes> pipelines,
                    const StepEnd& end) {
  const auto num_stages = static_cast<std::size_t>(schedule.num_stages);
  if (!end.empty() && (end.reduce_s.size() != num_stages || end.optimizer_s.size() != num_stages ||
                       end.gather_s.size() != num_stages)) {
    return Error(ErrorCode::kInvalidArgument, "the end of the step is not given for every stage");
  }
  if (pipelines.empty()) {
    return Error(ErrorCode::kInvalidArgument, "a step needs at least one data-parallel rank");
  }
  for (std::size_t rank = 0; rank < pipelines.size(); ++rank) {
    if (has_shape(pipelines[rank], schedule)) continue;
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the times of data-parallel rank {} are not those of {} stages and {} "
                             "micro-batches",
                             rank, schedule.num_stages, schedule.num_micro_batches));
  }
  return {};
}

/// Every cell takes the mean over the pipelines.
PipelineTimes equal_ranks(std::span<const PipelineTimes> pipelines) {
  PipelineTimes mean = pipelines[0];
  const auto average = [&](Field field) {
    for (std::size_t cell = 0; cell < (mean.*field).size(); ++cell) {
      double sum = 0;
      for (const PipelineTimes& times : pipelines) sum += (times.*field)[cell];
      (mean.*field)[cell] = sum / static_cast<double>(pipelines.size());
    }
  };
  std::for_each(kComputeFields.begin(), kComputeFields.end(), average);
  std::for_each(kLinkFields.begin(), kLinkFields.end(), average);
  return mean;
}

/// Every stage of a micro-batch takes the mean over its stages; a spread one, which other ranks run
/// in other micro-batches, stays as it is.
PipelineTimes equal_stages(const CompiledSchedule& schedule, PipelineTimes times) {
  const std::int32_t first = schedule.spread_ranks.empty() ? 0 : 1;
  for (const Field field : kComputeFields) {
    auto row = (times.*field).begin();
    for (std::int32_t m = 0; m < times.num_micro_batches; ++m, row += times.num_stages) {
      const double sum = std::accumulate(row + first, row + times.num_stages, 0.0);
      std::fill(row + first, row + times.num_stages, sum / (times.num_stages - first));
    }
  }
  return times;
}

PipelineTimes free_links(PipelineTimes times) {
  for (const Field field : kLinkFields)
    std::fill((times.*field).begin(), (times.*field).end(), 0.0);
  return times;
}

std::vector<double> mean_everywhere(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return std::vector<double>(values.size(), sum / static_cast<double>(values.size()));
}

StepEnd equal_stages(const StepEnd& end) {
  if (end.empty()) return {};
  return {mean_everywhere(end.reduce_s), mean_everywhere(end.optimizer_s),
          mean_everywhere(end.gather_s)};
}

StepEnd free_reduction(StepEnd end) {
  std::ranges::fill(end.reduce_s, 0.0);
  std::ranges::fill(end.gather_s, 0.0);
  return end;
}

/// The step of all pipelines together: the slowest one's computation, then the end of the step.
StepEndTimeline run_step(const CompiledSchedule& schedule, std::span<const PipelineTimes> pipelines,
                         const StepEnd& end) {
  double computed_s = 0;
  std::vector<double> ready_s(end.reduce_s.size(), 0.0);
  for (const PipelineTimes& times : pipelines) {
    if (end.empty()) {
      computed_s = std::max(computed_s, makespan(schedule, times));
      continue;
    }
    const std::vector<double> done = gradients_done(schedule, times);
    for (std::size_t s = 0; s < done.size(); ++s) ready_s[s] = std::max(ready_s[s], done[s]);
    computed_s = std::max(computed_s, std::ranges::max(done));
  }
  return run_step_end(schedule, end, ready_s, computed_s);
}

double step_seconds(const CompiledSchedule& schedule, const PipelineTimes& every_rank,
                    const StepEnd& end) {
  return run_step(schedule, std::span(&every_rank, 1), end).makespan_s;
}

double sum_of(std::span<const PipelineTimes> pipelines, Field field) {
  double sum = 0;
  for (const PipelineTimes& times : pipelines) {
    sum = std::accumulate((times.*field).begin(), (times.*field).end(), sum);
  }
  return sum;
}

/// Of all ranks of one pipeline.
double optimizer_seconds(const CompiledSchedule& schedule, const StepEnd& end) {
  double seconds = 0;
  for (std::size_t stage = 0; stage < end.optimizer_s.size(); ++stage) {
    const auto num_ranks = schedule.ranks_of(static_cast<std::int32_t>(stage)).size();
    seconds += end.optimizer_s[stage] * static_cast<double>(num_ranks);
  }
  return seconds;
}

/// Fills the breakdown of a step whose makespan is known.
void break_down(const CompiledSchedule& schedule, std::span<const PipelineTimes> pipelines,
                const StepEnd& end, double num_devices, StepSimulation& step) {
  const PipelineTimes ranks = equal_ranks(pipelines);
  const PipelineTimes stages = equal_stages(schedule, ranks);
  const StepEnd even_end = equal_stages(end);
  const StepEnd free_end = free_reduction(even_end);
  const double equal_ranks_s = std::min(step.makespan_s, step_seconds(schedule, ranks, end));
  const double equal_stages_s = std::min(equal_ranks_s, step_seconds(schedule, stages, even_end));
  const double free_end_s = std::min(equal_stages_s, step_seconds(schedule, stages, free_end));
  const double free_links_s =
      std::min(free_end_s, step_seconds(schedule, free_links(stages), free_end));
  step.optimizer_s = static_cast<double>(pipelines.size()) * optimizer_seconds(schedule, end);
  step.reduction_s = (equal_stages_s - free_end_s) * num_devices;
  Breakdown& parts = step.breakdown;
  parts.useful_s = sum_of(pipelines, &PipelineTimes::forward_s) +
                   sum_of(pipelines, &PipelineTimes::backward_s) + step.optimizer_s;
  parts.recompute_s = sum_of(pipelines, &PipelineTimes::recompute_s);
  parts.rank_imbalance_s = (step.makespan_s - equal_ranks_s) * num_devices;
  parts.stage_imbalance_s = (equal_ranks_s - equal_stages_s) * num_devices;
  parts.communication_s = (equal_stages_s - free_links_s) * num_devices;
  // No device is busier than the makespan: less than 0 is rounding.
  parts.bubble_s = std::max(0.0, free_links_s * num_devices - (parts.useful_s + parts.recompute_s));
}

/// Adds the ranks of one pipeline.
void append_use(const CompiledSchedule& schedule, const PipelineTimes& times, const StepEnd& end,
                double makespan_s, std::vector<RankUse>& out) {
  std::vector<RankUse> use(static_cast<std::size_t>(schedule.num_ranks));
  for (std::int32_t stage = 0; stage < times.num_stages; ++stage) {
    const std::span<const std::int32_t> ranks = schedule.ranks_of(stage);
    for (std::int32_t m = 0; m < times.num_micro_batches; ++m) {
      const std::int32_t rank = ranks[static_cast<std::size_t>(m) % ranks.size()];
      double& busy_s = use[static_cast<std::size_t>(rank)].busy_s;
      for (const Field field : kBusyFields) busy_s += (times.*field)[times.index(m, stage)];
    }
    if (end.empty()) continue;
    for (const std::int32_t rank : ranks) {
      use[static_cast<std::size_t>(rank)].busy_s +=
          end.optimizer_s[static_cast<std::size_t>(stage)];
    }
  }
  for (RankUse& rank : use) rank.idle_s = std::max(0.0, makespan_s - rank.busy_s);
  out.insert(out.end(), use.begin(), use.end());
}

}  // namespace

Result<StepSimulation> simulate_step(const CompiledSchedule& schedule,
                                     std::span<const PipelineTimes> pipelines, const StepEnd& end) {
  OMNIBAL_RETURN_IF_ERROR(check_shapes(schedule, pipelines, end));
  StepSimulation step;
  step.end = run_step(schedule, pipelines, end);
  step.makespan_s = step.end.makespan_s;
  for (const PipelineTimes& times : pipelines) {
    append_use(schedule, times, end, step.makespan_s, step.ranks);
  }
  const auto num_devices = static_cast<double>(step.ranks.size());
  break_down(schedule, pipelines, end, num_devices, step);
  double idle_s = 0;
  for (const RankUse& rank : step.ranks) idle_s += rank.idle_s;
  if (step.makespan_s > 0) step.bubble_fraction = idle_s / (step.makespan_s * num_devices);
  return step;
}

}  // namespace omnibal::simulate
