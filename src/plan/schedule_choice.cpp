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
  OMNIBAL_ASSIGN(JointChoice choice,
                 is_one_f_one_b
                     ? choices.joint
                     : choose_jointly(problem, plan, start_of(choose_pipeline(problem))));
  plan.cuts = std::move(choice.pipeline.cuts);
  plan.recompute = std::move(choice.pipeline.recompute);
  plan.choices = std::move(choice.pipeline.choices);
  OMNIBAL_RETURN_IF_ERROR(
      check_host_memory({problem.lists, plan.profile, problem.full_load, plan.cuts, plan.choices},
                        plan.cluster.host_share_bytes()));
  plan.certificate = std::move(choice.certificate);
  simulate::RankedStages ranked = stages_at_caps(plan, problem);
  plan.stages = std::move(ranked.stages);
  plan.ranks = std::move(ranked.ranks);
  return {};
}

}  // namespace omnibal::plan
