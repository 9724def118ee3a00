// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule_choice.h"

#include <utility>

#include "omnibal/plan/host_memory.h"

namespace omnibal::plan {
namespace {

/// Cuts in two steps, where those fit.
std::optional<PipelineChoice> start_of(const Result<PipelineChoice>& two_steps) {
  return two_steps ? std::optional(*two_steps) : std::nullopt;
}

/// The same for the plan's own schedule; else those by which its caps were found to fit.
std::optional<PipelineChoice> own_start(const PipelineProblem& problem, const Plan& plan) {
  const Result<PipelineChoice> two_steps = choose_pipeline(problem);
  const std::optional<LimitChoice>& caps = plan.data_options.choice;
  if (two_steps || !caps) return start_of(two_steps);
  const partition::Cuts& cuts = caps->best.cuts;
  if (static_cast<std::int32_t>(cuts.size()) + 1 != problem.num_stages) return std::nullopt;
  return start_of(recompute_within_memory(problem, cuts));
}

}  // namespace

Result<OneFOneBChoices> one_f_one_b_choices(const PipelineProblem& problem, const Plan& plan) {
  const Result<PipelineChoice> fitting = choose_pipeline(problem);
  if (!fitting && fitting.error().code != ErrorCode::kMemoryInfeasible) return fitting.error();
  PipelineChoice two_steps;
  if (fitting) {
    two_steps = *fitting;
  } else {
    OMNIBAL_ASSIGN(partition::Cuts cuts, cuts_by(PartitionMethod::kBmp, problem));
    two_steps = whole_layers(std::move(cuts), recompute::recompute_full(problem.layers));
  }
  return OneFOneBChoices{std::move(two_steps), choose_jointly(problem, plan, start_of(fitting))};
}

Status choose_own(const PipelineProblem& problem, const OneFOneBChoices& choices, Plan& plan) {
  const bool is_one_f_one_b = problem.kind == schedule::ScheduleKind::kOneFOneB;
  OMNIBAL_ASSIGN(JointChoice choice, is_one_f_one_b
                                         ? choices.joint
                                         : choose_jointly(problem, plan, own_start(problem, plan)));
  plan.cuts = std::move(choice.pipeline.cuts);
  plan.recompute = std::move(choice.pipeline.recompute);
  plan.choices = std::move(choice.pipeline.choices);
  OMNIBAL_RETURN_IF_ERROR(
      check_host_memory({problem.lists, plan.profile, problem.full_load, plan.cuts, plan.choices},
                        plan.cluster.host_share_bytes()));
  simulate::RankedStages ranked = stages_at_caps(plan, problem);
  plan.stages = std::move(ranked.stages);
  plan.ranks = std::move(ranked.ranks);
  return {};
}

}  // namespace omnibal::plan
