// SPDX-License-Identifier: Apache-2.0
#include "pipeline_choice.h"

#include "omnibal/simulate/stage_times.h"

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

/// Cuts by the paper's search, everything recomputed: recomputation is chosen after the cuts.
Result<partition::Cuts> choose_cuts(const PipelineProblem& problem) {
  std::vector<double> forward_s;
  std::vector<std::int64_t> boundary_bytes;
  for (const cost::LayerCost& layer : problem.at_mean) {
    forward_s.push_back(layer.forward_s);
    boundary_bytes.push_back(layer.boundary_bytes);
  }
  const recompute::RecomputeMask full = recompute::recompute_full(problem.layers);
  const std::vector<cost::Load> loads(static_cast<std::size_t>(problem.num_micro_batches),
                                      problem.mean_load);
  const auto makespan = [&](const partition::Cuts& cuts) {
    return simulate::makespan(
        problem.schedule,
        simulate::pipeline_times(simulate::stage_costs(problem.profile, cuts, full), {}, loads));
  };
  OMNIBAL_ASSIGN(const std::vector<partition::RankedCuts> ranked,
                 partition::partition_bmp({forward_s, boundary_bytes, problem.num_stages},
                                          {.threads = problem.threads}, makespan));
  return ranked.front().cuts;
}

}  // namespace

cost::Load full_pack(const pack::PackLimits& limits) {
  const auto tokens = static_cast<double>(limits.token_cap);
  return {static_cast<double>(limits.vision_cap), tokens, tokens * tokens};
}

Result<PipelineProblem> pipeline_problem(const Plan& plan, int threads) {
  const auto num_stages = static_cast<std::int32_t>(plan.sizes.pp);
  const auto num_micro_batches = static_cast<std::int32_t>(plan.micro_batches);
  OMNIBAL_ASSIGN(const schedule::Schedule schedule,
                 schedule::make_schedule(plan.schedule, num_stages, num_micro_batches));
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(schedule));
  const cost::Load mean = mean_load(plan.data.loads);
  PipelineProblem problem{
      .profile = plan.profile,
      .num_stages = num_stages,
      .num_micro_batches = num_micro_batches,
      .memory_bytes = plan.memory_bytes,
      .threads = threads,
      .mean_load = mean,
      .at_mean = cost::evaluate(plan.profile, mean),
      .at_caps = cost::evaluate(plan.profile, full_pack(plan.data_options.limits)),
      .layers = {},
      .schedule = std::move(compiled),
      .in_flight = {}};
  problem.layers = recompute::bar_layers(plan.profile, problem.at_caps);
  for (std::int32_t stage = 0; stage < num_stages; ++stage) {
    problem.in_flight.push_back(schedule::in_flight(schedule, StageIndex(stage)));
  }
  return problem;
}

Result<PipelineChoice> choose_pipeline(const PipelineProblem& problem) {
  PipelineChoice choice;
  OMNIBAL_ASSIGN(choice.cuts, choose_cuts(problem));
  const std::vector<std::int32_t> first_layers = partition::first_layers(choice.cuts);
  OMNIBAL_ASSIGN(
      choice.recompute,
      recompute::bar({problem.layers, first_layers, problem.memory_bytes},
                     recompute::modelled_memory(problem.at_caps, first_layers, problem.in_flight)));
  return choice;
}

std::vector<metrics::StageSummary> stages_at_caps(const Plan& plan,
                                                  const PipelineProblem& problem) {
  return metrics::summarize_stages(problem.at_caps, partition::first_layers(plan.cuts),
                                   plan.recompute, problem.in_flight);
}

}  // namespace omnibal::plan
