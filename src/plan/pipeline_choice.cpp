// SPDX-License-Identifier: Apache-2.0
#include "pipeline_choice.h"

#include <algorithm>
#include <utility>

namespace omnibal::plan {
namespace {

cost::Load mean_load(std::span<const metrics::PackLoad> loads) {
  cost::Load sum;
  for (const metrics::PackLoad& load : loads) {
    sum.vision_units += static_cast<double>(load.vision_units);
    sum.tokens += static_cast<double>(load.tokens);
    sum.token_pairs += static_cast<double>(load.token_pairs);
  }
  const auto count = static_cast<double>(loads.size());
  return {sum.vision_units / count, sum.tokens / count, sum.token_pairs / count};
}

/// By layer, what no recomputation spares: static bytes and what a recomputing layer keeps of the
/// micro-batches that the first stage holds.
std::vector<double> least_bytes(const PipelineProblem& problem) {
  const auto held = static_cast<double>(problem.in_flight.front());
  std::vector<double> bytes;
  for (const cost::LayerCost& layer : problem.at_caps) {
    const auto kept = std::min(layer.activation_bytes, layer.recomputed_bytes);
    bytes.push_back(static_cast<double>(layer.static_bytes) + held * static_cast<double>(kept));
  }
  return bytes;
}

Result<PipelineChoice> recompute_within_memory(const PipelineProblem& problem,
                                               partition::Cuts cuts) {
  const std::vector<std::int32_t> first_layers = partition::first_layers(cuts);
  OMNIBAL_ASSIGN(
      recompute::RecomputeMask mask,
      recompute::bar({problem.layers, first_layers, problem.memory_bytes},
                     recompute::modelled_memory(problem.at_caps, first_layers, problem.in_flight)));
  return PipelineChoice{std::move(cuts), std::move(mask)};
}

}  // namespace

Result<partition::Cuts> cuts_by(PartitionMethod method, const PipelineProblem& problem) {
  cost::Profile at_mean = problem.profile;
  at_mean.load = problem.mean_load;
  ModelBalanceRequest request;
  request.num_stages = problem.num_stages;
  request.num_micro_batches = problem.num_micro_batches;
  request.schedule = problem.kind;
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
  const auto num_stages = static_cast<std::int32_t>(setting.num_stages);
  const auto num_micro_batches = static_cast<std::int32_t>(setting.num_micro_batches);
  OMNIBAL_ASSIGN(const schedule::Schedule schedule,
                 schedule::make_schedule(setting.kind, num_stages, num_micro_batches));
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(schedule));
  const cost::Load full = full_pack(setting.limits);
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(setting.profile, full, setting.num_micro_batches));
  PipelineProblem problem{.profile = setting.profile,
                          .kind = setting.kind,
                          .num_stages = num_stages,
                          .num_micro_batches = num_micro_batches,
                          .memory_bytes = setting.memory_bytes,
                          .threads = setting.threads,
                          .mean_load = setting.mean_load,
                          .full_load = full,
                          .at_caps = cost::evaluate(setting.profile, full),
                          .layers = {},
                          .schedule = std::move(compiled),
                          .in_flight = schedule::in_flight(schedule)};
  problem.layers = recompute::bar_layers(setting.profile, problem.at_caps);
  return problem;
}

Result<PipelineProblem> pipeline_problem(const Plan& plan, int threads) {
  return pipeline_problem({.profile = plan.profile,
                           .kind = plan.schedule,
                           .num_stages = plan.sizes.pp,
                           .num_micro_batches = plan.micro_batches,
                           .memory_bytes = plan.memory_bytes,
                           .mean_load = mean_load(plan.data.loads),
                           .limits = plan.data_options.limits,
                           .threads = threads});
}

Result<PipelineChoice> choose_pipeline(const PipelineProblem& problem) {
  OMNIBAL_ASSIGN(partition::Cuts cuts, cuts_by(PartitionMethod::kBmp, problem));
  Result<PipelineChoice> choice = recompute_within_memory(problem, std::move(cuts));
  if (choice.ok() || choice.error().code != ErrorCode::kMemoryInfeasible) return choice;
  OMNIBAL_ASSIGN(cuts, partition::partition_min_max(least_bytes(problem), problem.num_stages));
  return recompute_within_memory(problem, std::move(cuts));
}

std::vector<metrics::StageSummary> stages_at_caps(const Plan& plan,
                                                  const PipelineProblem& problem) {
  const std::vector<cost::LayerCost> chosen =
      cost::evaluate(cost::with_choices(plan.profile, plan.choices), problem.full_load);
  return metrics::summarize_stages(chosen, partition::first_layers(plan.cuts), plan.recompute,
                                   problem.in_flight);
}

}  // namespace omnibal::plan
