// SPDX-License-Identifier: Apache-2.0
#include "plan/joint_choice.h"

#include <algorithm>
#include <numeric>

#include "omnibal/plan/epoch.h"

namespace omnibal::plan {
namespace {

/// Steps that a choice is judged by: groups are alike, so that a few stand for all.
constexpr std::int64_t kJudgedSteps = 8;

/// Seconds of the drawn steps.
class Judge {
 public:
  Judge(const PipelineProblem& problem, const Plan& plan)
      : layers_(simulate::pipeline_layers(plan.profile)),
        steps_(evenly_drawn(*plan.data.steps)),
        loads_(plan.data.loads),
        pipeline_{.schedule = problem.schedule, .stages = {}, .links = {}} {
    if (!plan.free_links) pipeline_.links = links_of_ranks(plan.cluster, plan.sizes, problem.lists);
  }

  /// Mean over the drawn steps.
  double seconds(const partition::Cuts& cuts, const cost::LayerChoices& choices) {
    pipeline_.stages = simulate::chosen_stage_costs(layers_, cuts, choices);
    const std::vector<double> seconds = step_seconds(pipeline_, steps_, loads_, 1);
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) /
           static_cast<double>(seconds.size());
  }

 private:
  simulate::PipelineLayers layers_;
  steps::StepTable steps_;
  std::span<const metrics::PackLoad> loads_;
  StepPipeline pipeline_;
};

/// The slowest rank's seconds a micro-batch, forward and backward together.
double bottleneck_seconds(const PipelineProblem& problem, const PipelineChoice& choice) {
  const std::vector<cost::LayerCost> costs =
      cost::evaluate(cost::with_choices(problem.profile, choice.choices), problem.mean_load);
  const std::vector<metrics::StageSummary> stages = metrics::summarize_stages(
      costs, partition::first_layers(choice.cuts), choice.recompute, problem.held.in_flight);
  std::vector<double> ranks(stages.size(), 0.0);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    ranks[static_cast<std::size_t>(problem.lists.stage_rank[s].value())] += stages[s].busy_s();
  }
  return std::ranges::max(ranks);
}

PlanCertificate plan_certificate(joint::Certificate certificate, double bottleneck_s,
                                 double step_s) {
  PlanCertificate plan{.lower_bound_s = std::min(certificate.lower_bound_s, bottleneck_s),
                       .bottleneck_s = bottleneck_s,
                       .gap = 0,
                       .proven = certificate.proven,
                       .step_s = step_s,
                       .cuts = std::move(certificate.cuts)};
  plan.gap = plan.bottleneck_s / plan.lower_bound_s - 1;
  return plan;
}

std::vector<joint::JointLayer> joint_layers_of(const PipelineProblem& problem) {
  const cost::Profile& profile = problem.profile;
  const std::vector<cost::LayerCost> at_mean = cost::evaluate(profile, problem.mean_load);
  std::vector<joint::JointLayer> layers =
      joint::joint_layers(problem.layers, at_mean, problem.at_caps);
  joint::add_named_choices(cost::evaluate_choices(profile, problem.mean_load),
                           cost::evaluate_choices(profile, problem.full_load), at_mean,
                           problem.at_caps, layers);
  return layers;
}

/// Where local moves begin: schedules without an exact program are given more places.
std::vector<partition::Cuts> seeds_of(const joint::JointProblem& asked,
                                      const std::optional<PipelineChoice>& start) {
  std::vector<partition::Cuts> seeds;
  if (start) seeds.push_back(start->cuts);
  if (!joint::needs_rank_plans(asked)) return seeds;
  std::vector<double> forward_s;
  for (const joint::JointLayer& layer : asked.layers) forward_s.push_back(layer.forward_s);
  for (auto cuts : {partition::partition_even_layers(static_cast<std::int32_t>(forward_s.size()),
                                                     asked.num_stages),
                    partition::partition_min_max(forward_s, asked.num_stages),
                    partition::partition_least_variance(forward_s, asked.num_stages)}) {
    if (cuts) seeds.push_back(*std::move(cuts));
  }
  return seeds;
}

}  // namespace

steps::StepTable evenly_drawn(const steps::StepTable& all) {
  steps::StepTable few;
  few.dp = all.dp;
  few.micro_batches = all.micro_batches;
  few.num_steps = std::min(all.num_steps, kJudgedSteps);
  const std::int64_t width = all.dp * all.micro_batches;
  for (std::int64_t k = 0; k < few.num_steps; ++k) {
    const auto first = all.pack_ids.begin() + k * all.num_steps / few.num_steps * width;
    few.pack_ids.insert(few.pack_ids.end(), first, first + width);
  }
  return few;
}

Plan without_choice(const Plan& plan) {
  Plan bare;
  bare.cluster = plan.cluster;
  bare.data.loads = plan.data.loads;
  bare.data.steps = plan.data.steps;
  bare.data_options.limits = plan.data_options.limits;
  bare.sizes = plan.sizes;
  bare.micro_batches = plan.micro_batches;
  bare.schedule = plan.schedule;
  bare.chunks = plan.chunks;
  bare.memory_bytes = plan.memory_bytes;
  bare.free_links = plan.free_links;
  return bare;
}

Result<JointChoice> choose_jointly(const PipelineProblem& problem, const Plan& plan,
                                   const std::optional<PipelineChoice>& start) {
  const std::vector<joint::JointLayer> layers = joint_layers_of(problem);
  const joint::JointProblem asked = joint_problem(problem, layers);
  Judge judge(problem, plan);
  const joint::JointOptions options{.seeds = seeds_of(asked, start), .alike = false};
  Result<joint::JointAnswer> solved = joint::solve(
      asked, options, [&](const partition::Cuts& cuts, const joint::LayerChoices& choices) {
        return judge.seconds(cuts, choices);
      });
  if (!solved) return with_plan_hint(std::move(solved).error());
  joint::JointAnswer& answer = *solved;
  double step_s = answer.best.makespan_s;
  PipelineChoice choice{answer.best.cuts, joint::to_mask(answer.best.choices), answer.best.choices};
  if (start) {
    const double start_s = judge.seconds(start->cuts, start->choices);
    if (start_s < step_s) {
      step_s = start_s;
      choice = *start;
      answer.certificate.cuts.clear();  // they speak of other cuts
    }
  }
  const double bottleneck_s = bottleneck_seconds(problem, choice);
  return JointChoice{std::move(choice),
                     plan_certificate(std::move(answer.certificate), bottleneck_s, step_s)};
}

Result<PlanCertificate> certify(const Plan& plan) {
  OMNIBAL_ASSIGN(const PipelineProblem problem, pipeline_problem(plan, 1));
  const std::vector<joint::JointLayer> layers = joint_layers_of(problem);
  Judge judge(problem, plan);
  OMNIBAL_ASSIGN(
      joint::Certificate certificate,
      joint::certify(joint_problem(problem, layers), plan.cuts, plan.choices,
                     [&](const partition::Cuts& cuts, const joint::LayerChoices& choices) {
                       return judge.seconds(cuts, choices);
                     }));
  return plan_certificate(std::move(certificate),
                          bottleneck_seconds(problem, {plan.cuts, plan.recompute, plan.choices}),
                          judge.seconds(plan.cuts, plan.choices));
}

}  // namespace omnibal::plan
