// SPDX-License-Identifier: Apache-2.0
#include "pipeline_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "omnibal/base/quantity.h"

namespace omnibal::plan {

partition::Cuts cuts_by_bytes(const PipelineProblem& problem) {
  const auto held = static_cast<double>(problem.held.in_flight.front());
  std::vector<double> bytes;
  for (const cost::LayerCost& layer : problem.at_caps) {
    const auto kept = std::min(layer.activation_bytes, layer.recomputed_bytes);
    bytes.push_back(static_cast<double>(layer.static_bytes) + held * static_cast<double>(kept));
  }
  return *partition::partition_min_max(bytes, problem.num_stages);
}

Result<PipelineChoice> recompute_within_memory(const PipelineProblem& problem,
                                               partition::Cuts cuts) {
  const std::vector<std::int32_t> first_layers = partition::first_layers(cuts);
  OMNIBAL_ASSIGN(
      recompute::RecomputeMask mask,
      recompute::bar({problem.layers, first_layers, problem.memory_bytes, problem.held.stage_rank},
                     memory_probe(problem.held, problem.layers, problem.at_caps, cuts)));
  return whole_layers(std::move(cuts), std::move(mask));
}

PipelineChoice whole_layers(partition::Cuts cuts, recompute::RecomputeMask recompute) {
  cost::LayerChoices choices = joint::to_choices(recompute);
  return {std::move(cuts), std::move(recompute), std::move(choices)};
}

Result<partition::Cuts> cuts_by(PartitionMethod method, const PipelineProblem& problem) {
  cost::Profile at_mean = problem.profile;
  at_mean.load = problem.mean_load;
  ModelBalanceRequest request;
  request.num_stages = problem.num_stages;
  request.num_micro_batches = problem.num_micro_batches;
  request.schedule = problem.kind;
  request.chunks = problem.chunks;
  request.method = method;
  request.recompute = RecomputeMethod::kFull;
  request.bmp.threads = problem.threads;
  OMNIBAL_ASSIGN(const ModelBalance balance, balance_model(at_mean, request));
  return balance.best.cuts;
}

cost::Load full_pack(const pack::PackLimits& limits) {
  const auto tokens = static_cast<double>(limits.token_cap);
  return {static_cast<double>(limits.vision_cap), tokens, tokens * tokens};
}

Result<PipelineProblem> pipeline_problem(const PipelineSetting& setting) {
  const auto chunks = static_cast<std::int32_t>(setting.chunks);
  const auto num_stages = static_cast<std::int32_t>(setting.num_ranks * setting.chunks);
  const auto num_micro_batches = static_cast<std::int32_t>(setting.num_micro_batches);
  OMNIBAL_RETURN_IF_ERROR(partition::check_stages(
      static_cast<std::int64_t>(setting.profile.layers.size()), num_stages));
  OMNIBAL_ASSIGN(
      const schedule::Schedule schedule,
      schedule::make_schedule(setting.kind, num_stages, num_micro_batches, {.chunks = chunks}));
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(schedule));
  const cost::Load full = full_pack(setting.limits);
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(setting.profile, full, setting.num_micro_batches));
  PipelineProblem problem{.profile = setting.profile,
                          .kind = setting.kind,
                          .chunks = chunks,
                          .num_stages = num_stages,
                          .num_micro_batches = num_micro_batches,
                          .memory_bytes = setting.memory_bytes,
                          .threads = setting.threads,
                          .mean_load = setting.mean_load,
                          .full_load = full,
                          .at_caps = cost::evaluate(setting.profile, full),
                          .layers = {},
                          .lists = schedule,
                          .schedule = std::move(compiled),
                          .held = held_by_ranks(schedule)};
  problem.layers = recompute::bar_layers(setting.profile, problem.at_caps);
  return problem;
}

namespace {

Result<PipelineProblem> problem_of(const Plan& plan, schedule::ScheduleKind kind,
                                   std::int32_t chunks, int threads) {
  return pipeline_problem({.profile = plan.profile,
                           .kind = kind,
                           .chunks = chunks,
                           .num_ranks = plan.sizes.pp,
                           .num_micro_batches = plan.micro_batches,
                           .memory_bytes = plan.memory_bytes,
                           .mean_load = metrics::mean_load(plan.data.loads),
                           .limits = plan.data_options.limits,
                           .threads = threads});
}

}  // namespace

Result<PipelineProblem> pipeline_problem(const Plan& plan, int threads) {
  return problem_of(plan, plan.schedule, plan.chunks, threads);
}

Result<PipelineProblem> paper_problem(const Plan& plan, int threads) {
  return problem_of(plan, schedule::ScheduleKind::kOneFOneB, 1, threads);
}

namespace {

/// Recomputation for cuts; where that does not fit, for cuts that spread the bytes evenly.
Result<PipelineChoice> fitted(const PipelineProblem& problem, partition::Cuts cuts) {
  Result<PipelineChoice> choice = recompute_within_memory(problem, std::move(cuts));
  if (choice.ok() || choice.error().code != ErrorCode::kMemoryInfeasible) return choice;
  return recompute_within_memory(problem, cuts_by_bytes(problem));
}

}  // namespace

Result<PipelineChoice> choose_pipeline(const PipelineProblem& problem) {
  OMNIBAL_ASSIGN(partition::Cuts cuts, cuts_by(PartitionMethod::kBmp, problem));
  return fitted(problem, std::move(cuts));
}

Result<partition::Cuts> cuts_by_time(const PipelineProblem& problem) {
  std::vector<double> seconds;
  for (const cost::LayerCost& layer : cost::evaluate(problem.profile, problem.mean_load)) {
    seconds.push_back(layer.forward_s + layer.backward_s());
  }
  return partition::partition_min_max(seconds, problem.num_stages);
}

Result<PipelineChoice> choose_quickly(const PipelineProblem& problem) {
  OMNIBAL_ASSIGN(partition::Cuts cuts, cuts_by_time(problem));
  return fitted(problem, std::move(cuts));
}

joint::JointProblem joint_problem(const PipelineProblem& problem,
                                  std::span<const joint::JointLayer> layers) {
  return {.layers = layers,
          .schedule = problem.kind,
          .num_stages = problem.num_stages,
          .num_micro_batches = problem.num_micro_batches,
          .in_flight = problem.held.in_flight,
          .memory_limit_bytes = problem.memory_bytes,
          .constraints = {},
          .chunks = problem.chunks};
}

Error with_plan_hint(Error does_not_fit) {
  const auto* needed = std::get_if<std::int64_t>(&does_not_fit.value);
  const auto* limit = std::get_if<std::int64_t>(&does_not_fit.limit);
  if (does_not_fit.code != ErrorCode::kMemoryInfeasible || !needed || !limit) return does_not_fit;
  return std::move(does_not_fit)
      .with_hint(fmt::format("raise --memory to {} bytes ({} more), use more GPUs with a larger "
                             "--tp or --pp, or lower --vision-cap and --token-cap",
                             *needed, format_bytes(*needed - *limit)));
}

simulate::RankedStages stages_at_caps(const Plan& plan, const PipelineProblem& problem) {
  return simulate::ranked_stages(problem.lists, cost::with_choices(plan.profile, plan.choices),
                                 problem.full_load, plan.cuts, plan.recompute);
}

std::int64_t fullest_rank_bytes(const PipelineProblem& problem, const PipelineChoice& choice) {
  const recompute::MemoryProbe peak =
      memory_probe(problem.held, problem.layers, problem.at_caps, choice.cuts);
  std::int64_t most = 0;
  for (std::int32_t s = 0; s < problem.num_stages; ++s) {
    most = std::max(most, peak(StageIndex{s}, choice.recompute));
  }
  return most;
}

}  // namespace omnibal::plan
