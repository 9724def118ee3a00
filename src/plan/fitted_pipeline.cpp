// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "omnibal/simulate/stage_times.h"
#include "plan/limit_prediction.h"
#include "plan/tight_cuts.h"

namespace omnibal::plan {
namespace {

/// Of the busy time of all stages.
double recompute_share(const cost::Profile& profile, const PipelineChoice& choice,
                       const cost::Load& load) {
  double recompute_s = 0;
  double other_s = 0;
  for (const simulate::StageCost& stage :
       simulate::stage_costs(profile, choice.cuts, choice.recompute)) {
    recompute_s += stage.recompute_s.at(load);
    other_s += stage.forward_s.at(load) + stage.backward_s.at(load);
  }
  return recompute_s / (other_s + recompute_s);
}

Result<PipelineProblem> pipeline_for(const LimitProblem& problem, const pack::PackLimits& limits,
                                     double samples_per_pack, std::int64_t micro_batches) {
  const TrainingTarget& target = problem.task.target;
  OMNIBAL_ASSIGN(
      PipelineProblem pipeline,
      pipeline_problem({.profile = target.profile,
                        .kind = target.schedule,
                        .chunks = target.chunks,
                        .num_ranks = target.sizes.pp,
                        .num_micro_batches =
                            std::min(micro_batches, std::max(kMostSimulated, 2 * target.sizes.pp)),
                        .memory_bytes = target.memory_bytes,
                        .mean_load = {problem.mean.vision_units * samples_per_pack,
                                      problem.mean.tokens * samples_per_pack,
                                      problem.mean.token_pairs * samples_per_pack},
                        .limits = limits,
                        .threads = 1}));
  if (target.schedule == schedule::ScheduleKind::kGPipe) {
    std::ranges::fill(pipeline.held.in_flight, micro_batches);
  }
  return pipeline;
}

Result<PipelineChoice> choose_by_time(const PipelineProblem& pipeline) {
  const bool frozen = !std::ranges::all_of(pipeline.profile.layers, &cost::LayerProfile::trainable);
  OMNIBAL_ASSIGN(partition::Cuts cuts, pipeline.chunks > 1 || frozen
                                           ? cuts_by_time(pipeline)
                                           : cuts_by(PartitionMethod::kBmp, pipeline));
  return recompute_within_memory(pipeline, std::move(cuts));
}

/// Of a step.
std::int64_t num_micro_batches(const TrainingTarget& target, double samples_per_pack) {
  const double of_rank =
      static_cast<double>(target.global_batch) / static_cast<double>(target.sizes.dp);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(of_rank / samples_per_pack + 0.5));
}

/// Caps that hold every sample are worth cuts of their own.
Result<PipelineChoice> choose_where_tight(const LimitProblem& problem,
                                          const pack::PackLimits& limits,
                                          const PipelineProblem& pipeline) {
  if (!problem.tight) return recompute_within_memory(pipeline, cuts_by_bytes(pipeline));
  const metrics::PackCaps& all = problem.holding_all;
  if (limits.vision_cap == all.vision_units && limits.token_cap == all.tokens) {
    return choose_together(pipeline);
  }
  return problem.tight->choose(pipeline, [&](std::int64_t vision, std::int64_t tokens) {
    pack::PackLimits other = limits;
    other.vision_cap = vision;
    other.token_cap = tokens;
    const double in_pack = typical_samples_per_pack(problem, vision, tokens);
    return pipeline_for(problem, other, in_pack, num_micro_batches(problem.task.target, in_pack));
  });
}

}  // namespace

double typical_samples_per_pack(const LimitProblem& problem, std::int64_t vision_cap,
                                std::int64_t token_cap) {
  const cost::Load& mean = problem.mean;
  double in_pack = static_cast<double>(token_cap) / std::max(1.0, mean.tokens);
  if (mean.vision_units > 0) {
    in_pack = std::min(in_pack, static_cast<double>(vision_cap) / mean.vision_units);
  }
  return std::max(1.0, in_pack);
}

bool fits_by_time(const LimitProblem& problem, const metrics::PackCaps& caps) {
  const double in_pack = typical_samples_per_pack(problem, caps.vision_units, caps.tokens);
  const Result<PipelineProblem> pipeline =
      pipeline_for(problem, problem.task.asked.rules.at(caps.vision_units, caps.tokens), in_pack,
                   num_micro_batches(problem.task.target, in_pack));
  return pipeline && choose_by_time(*pipeline);
}

Status check_least_memory(const LimitProblem& problem, const metrics::PackCaps& caps) {
  const double in_pack = typical_samples_per_pack(problem, caps.vision_units, caps.tokens);
  OMNIBAL_ASSIGN(const PipelineProblem pipeline,
                 pipeline_for(problem, problem.task.asked.rules.at(caps.vision_units, caps.tokens),
                              in_pack, num_micro_batches(problem.task.target, in_pack)));
  const Result<PipelineChoice> choice = choose_together(pipeline);
  return choice ? Status() : choice.error();
}

Result<FittedPipeline> fit_pipeline(const LimitProblem& problem, const pack::PackLimits& limits,
                                    double samples_per_pack) {
  const TrainingTarget& target = problem.task.target;
  const std::int64_t micro_batches = num_micro_batches(target, samples_per_pack);
  OMNIBAL_ASSIGN(const PipelineProblem pipeline,
                 pipeline_for(problem, limits, samples_per_pack, micro_batches));
  Result<PipelineChoice> fitted = choose_by_time(pipeline);
  if (!fitted && fitted.error().code == ErrorCode::kMemoryInfeasible) {
    fitted = choose_where_tight(problem, limits, pipeline);
  }
  OMNIBAL_ASSIGN(PipelineChoice choice, std::move(fitted));
  const std::int64_t peak_bytes = fullest_rank_bytes(pipeline, choice);
  const double share = recompute_share(target.profile, choice, pipeline.mean_load);
  return FittedPipeline{std::move(choice), micro_batches, peak_bytes, share};
}

}  // namespace omnibal::plan
