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
  OneFOneBChoices choices;
  const Result<PipelineChoice> two_steps = choose_pipeline(problem);
  if (!two_steps && two_steps.error().code != ErrorCode::kMemoryInfeasible) {
    return two_steps.error();
  }
  if (two_steps) {
    choices.two_steps = *two_steps;
  } else {
    OMNIBAL_ASSIGN(partition::Cuts cuts, cuts_by(PartitionMethod::kBmp, problem));
    choices.two_steps = whole_layers(std::move(cuts), recompute::recompute_full(problem.layers));
  }
  Result<JointChoice> joint = choose_jointly(problem, plan, start_of(two_steps));
  choices.joint = joint ? *std::move(joint) : JointChoice{choices.two_steps, {}};
  return choices;
}

Status choose_own(const PipelineProblem& problem, const OneFOneBChoices& choices, Plan& plan) {
  JointChoice choice = choices.joint;
  if (problem.kind == schedule::ScheduleKind::kOneFOneB) {
    // Its rows would hide that nothing fits; named choices may where whole layers do not.
    if (!choose_pipeline(problem)) {
      OMNIBAL_RETURN_IF_ERROR(choose_jointly(problem, plan, std::nullopt));
    }
  } else {
    OMNIBAL_ASSIGN(choice, choose_jointly(problem, plan, start_of(choose_pipeline(problem))));
  }
  plan.cuts = std::move(choice.pipeline.cuts);
  plan.recompute = std::move(choice.pipeline.recompute);
  plan.choices = std::move(choice.pipeline.choices);
  OMNIBAL_RETURN_IF_ERROR(
      check_host_memory({problem.lists, plan.profile, problem.full_load, plan.cuts, plan.choices},
                        plan.cluster.host_share_bytes()));
  plan.certificate = std::move(choice.certificate);
  RankedStages ranked = stages_at_caps(plan, problem);
  plan.stages = std::move(ranked.stages);
  plan.ranks = std::move(ranked.ranks);
  return {};
}

}  // namespace omnibal::plan
