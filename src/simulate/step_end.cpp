// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/step_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "omnibal/base/name_table.h"
#include "omnibal/simulate/collectives.h"
#include "simulate/state_bytes.h"

namespace omnibal::simulate {
namespace {

constexpr std::array kReductions = {Named{Reduction::kNone, "none"},
                                    Named{Reduction::kAllReduce, "all-reduce"},
                                    Named{Reduction::kDistributed, "distributed"}};

/// Trainable parameters that a device holds of each stage.
std::vector<double> parameters_of_stages(const StepEndCase& step) {
  const auto num_layers = static_cast<std::int32_t>(step.profile.layers.size());
  std::vector<double> stages;
  for (const partition::StageRange& range : partition::stage_ranges(step.cuts, num_layers)) {
    double parameters = 0;
    for (std::int32_t i = range.begin; i < range.end; ++i) {
      parameters += step.profile.layers[static_cast<std::size_t>(i)].trained_parameters();
    }
    stages.push_back(parameters / static_cast<double>(step.sizes.tp));
  }
  return stages;
}

Status check_known(const StepEndCase& step, std::span<const double> parameters) {
  const bool trains = std::ranges::any_of(step.profile.layers, &cost::LayerProfile::trainable);
  if (trains && std::ranges::all_of(parameters, [](double count) { return count <= 0; })) {
    return Error(ErrorCode::kMissingKey,
                 "the profile does not say how many parameters its layers have, so that their "
                 "gradients cannot be counted")
        .at_key("parameters")
        .with_hint("give the layers `parameters`, or simulate without --update");
  }
  if (step.cluster.memory_bytes_per_s > 0) return {};
  return Error(ErrorCode::kMissingKey,
               fmt::format("the rate of the device memory of cluster \"{}\" is not known, so that "
                           "the optimizer cannot be timed",
                           step.cluster.name))
      .at_key("memory_bytes_per_s")
      .with_hint("name a --cluster that has it");
}

/// The stages of `rank` in the order in which their gradients are ready.
std::vector<std::int32_t> in_order_of_readiness(const CompiledSchedule& schedule, std::int32_t rank,
                                                std::span<const double> ready_s) {
  std::vector<std::int32_t> stages;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (std::ranges::count(schedule.ranks_of(stage), rank) > 0) stages.push_back(stage);
  }
  std::ranges::stable_sort(
      stages, {}, [&](std::int32_t stage) { return ready_s[static_cast<std::size_t>(stage)]; });
  return stages;
}

/// The devices that hold the same weights of a stage: of a spread one those of all its ranks.
DeviceGroup group_of_stage(const StepEndCase& step, std::size_t stage) {
  const std::vector<RankIndex>& spread = step.schedule.spread_ranks;
  if (stage == 0 && !spread.empty()) {
    return data_parallel_group(step.cluster, step.sizes, spread.front().value(),
                               static_cast<std::int64_t>(spread.size()));
  }
  return data_parallel_group(step.cluster, step.sizes, step.schedule.stage_rank[stage].value());
}

}  // namespace

std::string_view to_string(Reduction reduction) { return name_in(kReductions, reduction); }

std::vector<std::string> reduction_names() { return names_in(kReductions); }

Result<Reduction> parse_reduction(std::string_view text) {
  return parse_name(kReductions, "reduction", "update", text);
}

Result<StepEnd> step_end(const StepEndCase& step, Reduction reduction) {
  StepEnd end;
  if (reduction == Reduction::kNone) return end;
  const std::vector<double> parameters = parameters_of_stages(step);
  OMNIBAL_RETURN_IF_ERROR(check_known(step, parameters));
  const bool sharded = reduction == Reduction::kDistributed;
  for (std::size_t stage = 0; stage < parameters.size(); ++stage) {
    const DeviceGroup group = group_of_stage(step, stage);
    const double gradients = kFp32GradientBytes * parameters[stage];
    const double updated =
        sharded ? parameters[stage] / static_cast<double>(group.members) : parameters[stage];
    end.reduce_s.push_back(sharded ? reduce_scatter_s(group, gradients)
                                   : all_reduce_s(group, gradients));
    end.optimizer_s.push_back(kUpdateBytes * updated / step.cluster.memory_bytes_per_s);
    end.gather_s.push_back(sharded ? all_gather_s(group, kWeightBytes * parameters[stage]) : 0.0);
  }
  return end;
}

StepEndTimeline run_step_end(const CompiledSchedule& schedule, const StepEnd& end,
                             std::span<const double> ready_s, double computed_s) {
  StepEndTimeline timeline{{}, computed_s};
  if (end.empty()) return timeline;
  std::vector<std::vector<std::int32_t>> stages_of;
  double reduced_s = computed_s;
  for (std::int32_t rank = 0; rank < schedule.num_ranks; ++rank) {
    stages_of.push_back(in_order_of_readiness(schedule, rank, ready_s));
    double clock = 0;
    for (const std::int32_t stage : stages_of.back()) {
      const auto s = static_cast<std::size_t>(stage);
      const double start = std::max(clock, ready_s[s]);
      clock = start + end.reduce_s[s];
      timeline.spans.push_back({StepEndSpan::Kind::kReduce, rank, stage, start, clock});
    }
    reduced_s = std::max(reduced_s, clock);
  }
  for (std::int32_t rank = 0; rank < schedule.num_ranks; ++rank) {
    double clock = reduced_s;
    const auto append = [&](StepEndSpan::Kind kind, const std::vector<double>& seconds) {
      for (const std::int32_t stage : stages_of[static_cast<std::size_t>(rank)]) {
        const double start = clock;
        clock += seconds[static_cast<std::size_t>(stage)];
        timeline.spans.push_back({kind, rank, stage, start, clock});
      }
    };
    append(StepEndSpan::Kind::kOptimizer, end.optimizer_s);
    append(StepEndSpan::Kind::kGather, end.gather_s);
    timeline.makespan_s = std::max(timeline.makespan_s, clock);
  }
  return timeline;
}

}  // namespace omnibal::simulate
