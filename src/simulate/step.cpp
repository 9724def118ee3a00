// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "omnibal/simulate/pipeline.h"

namespace omnibal::simulate {
namespace {

using Field = std::vector<double> PipelineTimes::*;
constexpr std::array<Field, 3> kComputeFields = {
    &PipelineTimes::forward_s, &PipelineTimes::backward_s, &PipelineTimes::recompute_s};
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

Status check_shapes(const CompiledSchedule& schedule, std::span<const PipelineTimes> pipelines) {
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

/// Every stage of a micro-batch takes the mean over its stages.
PipelineTimes equal_stages(PipelineTimes times) {
  for (const Field field : kComputeFields) {
    auto row = (times.*field).begin();
    for (std::int32_t m = 0; m < times.num_micro_batches; ++m, row += times.num_stages) {
      const double sum = std::accumulate(row, row + times.num_stages, 0.0);
      std::fill(row, row + times.num_stages, sum / times.num_stages);
    }
  }
  return times;
}

PipelineTimes free_links(PipelineTimes times) {
  for (const Field field : kLinkFields)
    std::fill((times.*field).begin(), (times.*field).end(), 0.0);
  return times;
}

double sum_of(std::span<const PipelineTimes> pipelines, Field field) {
  double sum = 0;
  for (const PipelineTimes& times : pipelines) {
    sum = std::accumulate((times.*field).begin(), (times.*field).end(), sum);
  }
  return sum;
}

Breakdown break_down(const CompiledSchedule& schedule, std::span<const PipelineTimes> pipelines,
                     double actual_makespan, double num_devices) {
  const PipelineTimes ranks = equal_ranks(pipelines);
  const PipelineTimes stages = equal_stages(ranks);
  const double equal_ranks_s = std::min(actual_makespan, makespan(schedule, ranks));
  const double equal_stages_s = std::min(equal_ranks_s, makespan(schedule, stages));
  const double free_links_s = std::min(equal_stages_s, makespan(schedule, free_links(stages)));
  Breakdown parts;
  parts.useful_s =
      sum_of(pipelines, &PipelineTimes::forward_s) + sum_of(pipelines, &PipelineTimes::backward_s);
  parts.recompute_s = sum_of(pipelines, &PipelineTimes::recompute_s);
  parts.rank_imbalance_s = (actual_makespan - equal_ranks_s) * num_devices;
  parts.stage_imbalance_s = (equal_ranks_s - equal_stages_s) * num_devices;
  parts.communication_s = (equal_stages_s - free_links_s) * num_devices;
  // No device is busier than the makespan: less than 0 is rounding.
  parts.bubble_s = std::max(0.0, free_links_s * num_devices - (parts.useful_s + parts.recompute_s));
  return parts;
}

/// Adds the ranks of one pipeline.
void append_use(const CompiledSchedule& schedule, const PipelineTimes& times, double makespan_s,
                std::vector<RankUse>& out) {
  std::vector<RankUse> use(static_cast<std::size_t>(schedule.num_ranks));
  for (std::int32_t m = 0; m < times.num_micro_batches; ++m) {
    for (std::int32_t stage = 0; stage < times.num_stages; ++stage) {
      const std::size_t cell = times.index(m, stage);
      const std::int32_t rank = schedule.stage_rank[static_cast<std::size_t>(stage)];
      for (const Field field : kComputeFields) {
        use[static_cast<std::size_t>(rank)].busy_s += (times.*field)[cell];
      }
    }
  }
  for (RankUse& rank : use) rank.idle_s = std::max(0.0, makespan_s - rank.busy_s);
  out.insert(out.end(), use.begin(), use.end());
}

}  // namespace

Result<StepSimulation> simulate_step(const CompiledSchedule& schedule,
                                     std::span<const PipelineTimes> pipelines) {
  OMNIBAL_RETURN_IF_ERROR(check_shapes(schedule, pipelines));
  StepSimulation step;
  for (const PipelineTimes& times : pipelines) {
    step.makespan_s = std::max(step.makespan_s, makespan(schedule, times));
  }
  for (const PipelineTimes& times : pipelines) {
    append_use(schedule, times, step.makespan_s, step.ranks);
  }
  const auto num_devices = static_cast<double>(step.ranks.size());
  step.breakdown = break_down(schedule, pipelines, step.makespan_s, num_devices);
  double idle_s = 0;
  for (const RankUse& rank : step.ranks) idle_s += rank.idle_s;
  if (step.makespan_s > 0) step.bubble_fraction = idle_s / (step.makespan_s * num_devices);
  return step;
}

}  // namespace omnibal::simulate
