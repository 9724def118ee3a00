// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/sensitivity.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "omnibal/base/name_table.h"
#include "omnibal/plan/model_balance.h"
#include "plan/joint_choice.h"
#include "plan/sensitivity_cases.h"

namespace omnibal::plan {
namespace {

constexpr std::array kParts = {Named{ModelPart::kVision, "vision"},
                               Named{ModelPart::kLanguage, "language"}};
constexpr std::array kFactors = {0.9, 1.1};

bool is_of(const cost::LayerProfile& layer, ModelPart part) {
  return layer.kind && model::is_vision(*layer.kind) == (part == ModelPart::kVision);
}

/// Mean seconds of a step of the epoch with `choice`, on the links of `pipeline`.
Result<double> mean_seconds(const Plan& plan, const PipelineProblem& problem,
                            const PipelineChoice& choice, StepPipeline pipeline) {
  pipeline.stages = simulate::chosen_stage_costs(simulate::pipeline_layers(plan.profile),
                                                 choice.cuts, choice.choices);
  if (!pipeline.end.empty()) {
    OMNIBAL_ASSIGN(pipeline.end, simulate::step_end({plan.profile, choice.cuts, problem.lists,
                                                     plan.cluster, plan.sizes},
                                                    simulate::Reduction::kDistributed));
  }
  const std::vector<double> seconds =
      step_seconds(pipeline, *plan.data.steps, plan.data.loads, problem.threads);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

/// `plan` has the scaled profile, `kept` is what was chosen without knowing it.
Result<SensitivityCase> make_case(const Plan& plan, const PipelineChoice& kept, int threads,
                                  const StepPipeline& pipeline) {
  OMNIBAL_ASSIGN(const PipelineProblem problem, pipeline_problem(plan, threads));
  OMNIBAL_ASSIGN(JointChoice knowing, choose_jointly(problem, plan, kept));
  SensitivityCase made;
  OMNIBAL_ASSIGN(made.step_s, mean_seconds(plan, problem, kept, pipeline));
  OMNIBAL_ASSIGN(made.best_step_s, mean_seconds(plan, problem, knowing.pipeline, pipeline));
  // A few steps judge the choice: over the epoch the one that is kept may do better.
  if (made.best_step_s > made.step_s) {
    made.best_step_s = made.step_s;
    knowing.pipeline = kept;
  }
  made.loss = made.step_s / made.best_step_s - 1;
  made.cuts = std::move(knowing.pipeline.cuts);
  made.recompute = std::move(knowing.pipeline.recompute);
  made.named = cost::named_choices(plan.profile, knowing.pipeline.choices);
  return made;
}

}  // namespace

std::string_view to_string(ModelPart part) { return name_in(kParts, part); }

cost::Profile scaled(cost::Profile profile, ModelPart part, double factor) {
  for (cost::LayerProfile& layer : profile.layers) {
    if (!is_of(layer, part)) continue;
    for (cost::LinearCost* seconds :
         {&layer.forward_s, &layer.input_grad_s, &layer.weight_grad_s, &layer.recompute_s}) {
      *seconds = factor * *seconds;
    }
    for (cost::RecomputeChoice& choice : layer.recompute_choices) {
      if (choice.name != cost::kOffloadChoice) choice.recompute_s = factor * choice.recompute_s;
    }
  }
  return profile;
}

std::vector<SensitivityCase> cases_of(const cost::Profile& profile) {
  std::vector<SensitivityCase> cases;
  for (const auto& [part, name] : kParts) {
    const ModelPart of_case = part;
    if (std::ranges::none_of(profile.layers, [of_case](const cost::LayerProfile& layer) {
          return is_of(layer, of_case);
        })) {
      continue;
    }
    for (const double factor : kFactors) {
      SensitivityCase& one = cases.emplace_back();
      one.part = part;
      one.factor = factor;
    }
  }
  return cases;
}

Result<std::vector<SensitivityCase>> sensitivity_of(const Plan& plan,
                                                    const PipelineProblem& problem,
                                                    const StepPipeline& pipeline) {
  std::vector<SensitivityCase> cases = cases_of(plan.profile);
  Plan other = without_choice(plan);
  for (SensitivityCase& one : cases) {
    other.profile = scaled(plan.profile, one.part, one.factor);
    OMNIBAL_ASSIGN(SensitivityCase made, make_case(other, {plan.cuts, plan.recompute, plan.choices},
                                                   problem.threads, pipeline));
    made.part = one.part;
    made.factor = one.factor;
    one = std::move(made);
  }
  return cases;
}

codec::Json to_json(const std::vector<SensitivityCase>& cases) {
  codec::Json json = codec::Json::array();
  for (const SensitivityCase& one : cases) {
    json.push_back({{"part", to_string(one.part)},
                    {"factor", one.factor},
                    {"step_s", one.step_s},
                    {"best_step_s", one.best_step_s},
                    {"loss", one.loss},
                    {"cuts", partition::first_layers(one.cuts)}});
    json.back().update(recompute_json(one.recompute, one.named));
  }
  return json;
}

}  // namespace omnibal::plan
