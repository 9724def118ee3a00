// SPDX-License-Identifier: Apache-2.0
#include "prediction.h"

#include <algorithm>
#include <numeric>

#include "plan/model_seconds.h"

namespace omnibal::plan {
namespace {

/// FLOPs that the model itself needs for `load`, without replicated or recomputed work: the
/// analytic profile of one device says how long they take at the achieved rate.
Result<double> model_flops(const model::ModelSpec& model, const cluster::ClusterSpec& cluster,
                           const cost::Load& load) {
  OMNIBAL_ASSIGN(const cost::Profile alone, cost::analytic_profile(model, cluster, {}));
  return useful_seconds(alone, load) * cluster.achieved_flops;
}

std::int64_t peak_bytes(std::span<const metrics::RankSummary> ranks) {
  return std::ranges::max_element(ranks, {}, &metrics::RankSummary::peak_bytes)->peak_bytes;
}

std::int64_t peak_bytes_worst_pack(const Plan& plan, const PipelineProblem& problem) {
  return peak_bytes(
      simulate::ranked_stages(problem.lists, cost::with_choices(plan.profile, plan.choices),
                              metrics::largest_load(plan.data.loads), plan.cuts, plan.recompute)
          .ranks);
}

}  // namespace

cost::Load placed_load(const corpus::Corpus& corpus, const Plan& plan) {
  const metrics::SampleColumns samples = columns(corpus, plan.data);
  cost::Load sum;
  for (const std::uint32_t sample : plan.data.admission.accepted) {
    const double tokens = samples.tokens[sample];
    sum.vision_units += samples.vision[sample];
    sum.tokens += tokens;
    sum.token_pairs += tokens * tokens;
  }
  return sum;
}

Result<simulate::StepEnd> timed_end(const simulate::StepEndCase& step) {
  Result<simulate::StepEnd> end = simulate::step_end(step, simulate::Reduction::kDistributed);
  if (!end && end.error().code == ErrorCode::kMissingKey) return simulate::StepEnd{};
  return end;
}

Result<StepPipeline> predicted_pipeline(const PipelineProblem& problem, const Plan& plan) {
  StepPipeline pipeline{.schedule = problem.schedule,
                        .stages = simulate::chosen_stage_costs(
                            simulate::pipeline_layers(plan.profile), plan.cuts, plan.choices),
                        .links = {}};
  if (plan.free_links) return pipeline;
  pipeline.links = links_of_ranks(plan.cluster, plan.sizes, problem.lists);
  OMNIBAL_ASSIGN(pipeline.end,
                 timed_end({plan.profile, plan.cuts, problem.lists, plan.cluster, plan.sizes}));
  return pipeline;
}

Status predict(const corpus::Corpus& corpus, const model::ModelSpec& model,
               const PipelineProblem& problem, const StepPipeline& pipeline, Plan& plan) {
  const std::vector<double> seconds =
      step_seconds(pipeline, *plan.data.steps, plan.data.loads, problem.threads);
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto gpus = static_cast<double>(plan.sizes.gpus());
  const cost::Load all = placed_load(corpus, plan);
  OMNIBAL_ASSIGN(const double flops, model_flops(model, plan.cluster, all));
  plan.prediction = {
      .step_s = total / static_cast<double>(seconds.size()),
      .gpu_days = total * gpus / 86400,
      .hours = total / 3600,
      .peak_bytes = peak_bytes(plan.ranks),
      .peak_bytes_worst_pack = peak_bytes_worst_pack(plan, problem),
      .samples_per_s = static_cast<double>(plan.data.admission.accepted.size()) / total,
      .tokens_per_s_per_gpu = all.tokens / (total * gpus),
      .mfu = flops / (total * gpus * plan.cluster.peak_flops)};
  plan.bound_gpu_days =
      bound_gpu_days(plan.profile, all, plan.data.grouping.packs.size(), plan.sizes.tp);
  return {};
}

}  // namespace omnibal::plan
