// SPDX-License-Identifier: Apache-2.0
#include "plan/tight_cuts.h"

#include <algorithm>

#include "omnibal/joint/joint.h"
#include "omnibal/simulate/stage_times.h"

namespace omnibal::plan {
namespace {

/// Of 0, 1, 2, ... in steps of about a fifth: the next at or above a cap, and the one before.
struct Rounded {
  std::int64_t down = 0;
  std::int64_t up = 0;
};

Rounded rounded(double cap) {
  Rounded step;
  while (static_cast<double>(step.up) < cap) {
    step.down = step.up;
    step.up += std::max<std::int64_t>(1, step.up / 5);
  }
  return step;
}

}  // namespace

TightCuts::TightCuts(const metrics::PackCaps& caps)
    : floor_{rounded(static_cast<double>(caps.vision_units)).down,
             rounded(static_cast<double>(caps.tokens)).down} {}

Result<PipelineChoice> choose_together(const PipelineProblem& problem) {
  const std::vector<joint::JointLayer> layers = joint::joint_layers(
      problem.layers, cost::evaluate(problem.profile, problem.mean_load), problem.at_caps);
  const joint::JointProblem asked = joint_problem(problem, layers);
  const simulate::PipelineLayers pipeline = simulate::pipeline_layers(problem.profile);
  const std::vector<cost::Load> loads(static_cast<std::size_t>(problem.num_micro_batches),
                                      problem.mean_load);
  const joint::Evaluator step_s = [&](const partition::Cuts& cuts,
                                      const joint::LayerChoices& choices) {
    return simulate::makespan(
        problem.schedule,
        simulate::pipeline_times(simulate::chosen_stage_costs(pipeline, cuts, choices), {}, loads));
  };
  Result<joint::JointAnswer> answer = joint::solve(asked, {.candidates = 1}, step_s);
  if (!answer) return with_plan_hint(std::move(answer).error());
  joint::JointPlan& best = answer->best;
  return PipelineChoice{std::move(best.cuts), joint::to_mask(best.choices),
                        std::move(best.choices)};
}

bool TightCuts::smaller_ones_fit(const Caps& caps, const AtCaps& at_caps) {
  const auto [vision, tokens] = caps;
  if (tokens > floor_.second) {
    return cuts_at({vision, rounded(static_cast<double>(tokens)).down}, at_caps).has_value();
  }
  if (vision > floor_.first) {
    return cuts_at({rounded(static_cast<double>(vision)).down, tokens}, at_caps).has_value();
  }
  return true;
}

std::optional<partition::Cuts> TightCuts::cuts_at(const Caps& caps, const AtCaps& at_caps) {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = found_.find(caps);
    if (known != found_.end()) return known->second;
  }
  std::optional<partition::Cuts> cuts;
  if (smaller_ones_fit(caps, at_caps)) {
    if (const Result<PipelineProblem> problem = at_caps(caps.first, caps.second)) {
      if (Result<PipelineChoice> choice = choose_together(*problem)) cuts = std::move(choice->cuts);
    }
  }
  const std::scoped_lock lock(mutex_);
  return found_.try_emplace(caps, std::move(cuts)).first->second;
}

Result<PipelineChoice> TightCuts::choose(const PipelineProblem& problem, const AtCaps& at_caps) {
  const Rounded vision = rounded(problem.full_load.vision_units);
  const Rounded tokens = rounded(problem.full_load.tokens);
  const auto smaller = cuts_at({vision.down, tokens.down}, at_caps);
  if (!smaller) return recompute_within_memory(problem, *cuts_by_time(problem));
  Result<PipelineChoice> choice = recompute_within_memory(problem, *smaller);
  if (choice) return choice;
  const auto larger = cuts_at({vision.up, tokens.up}, at_caps);
  return larger ? recompute_within_memory(problem, *larger) : std::move(choice);
}

}  // namespace omnibal::plan
