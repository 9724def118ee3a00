// SPDX-License-Identifier: Apache-2.0
//
// What the plan loses if layers take other times than predicted.
#include <algorithm>
#include <cmath>

#include "checks.h"
#include "model_claims.h"
#include "omnibal/plan/sensitivity.h"
#include "omnibal/simulate/ranked_stages.h"
#include "simulated_epoch.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

/// A step of the epoch with these cuts and choices where layers take the times of `profile`.
Result<double> seconds_with(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                            const cost::Profile& profile, const plan::CutsAndChoices& choice,
                            int threads) {
  plan::StepPipeline steps = pipeline.steps;
  steps.stages =
      simulate::chosen_stage_costs(simulate::pipeline_layers(profile), choice.cuts, choice.choices);
  OMNIBAL_ASSIGN(steps.end, simulate::step_end({profile, choice.cuts, pipeline.schedule,
                                                pipeline.cluster, pipeline.sizes},
                                               pipeline.update));
  return mean_step_seconds(plan, steps, threads);
}

/// Full packs fit into memory.
Status check_fits(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                  const plan::CutsAndChoices& choice, const std::string& place) {
  OMNIBAL_ASSIGN(const Caps caps, caps_of(plan));
  const auto tokens = static_cast<double>(caps.tokens);
  const simulate::RankedStages found = simulate::ranked_stages(
      pipeline.schedule, cost::with_choices(*plan.profile(), choice.choices),
      {static_cast<double>(caps.vision_units), tokens, tokens * tokens}, choice.cuts,
      cost::spares_memory(choice.choices));
  OMNIBAL_ASSIGN(const std::int64_t limit, JsonFields(plan.document(), plan::plan_document_name())
                                               .integer("memory_bytes", 0, INT64_MAX));
  const std::int64_t peak =
      std::ranges::max_element(found.ranks, {}, &metrics::RankSummary::peak_bytes)->peak_bytes;
  if (peak <= limit) return {};
  return violation("{}: its cuts need {} bytes, the limit is {}", place, peak, limit);
}

Status check_question(const JsonFields& fields, const plan::SensitivityCase& asked,
                      const std::string& place) {
  OMNIBAL_ASSIGN(const std::string part, fields.text("part"));
  OMNIBAL_ASSIGN(const double factor, fields.number("factor", 0, 100));
  if (part == plan::to_string(asked.part) && std::abs(factor - asked.factor) <= kRounding) {
    return {};
  }
  return violation("{} is of {} x {}, {} x {} stands there", place, part, factor,
                   plan::to_string(asked.part), asked.factor);
}

Status check_case(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                  const Json& claimed, const plan::SensitivityCase& asked, std::size_t index,
                  int threads) {
  const std::string place = fmt::format("sensitivity[{}]", index);
  const JsonFields fields(claimed, plan::plan_document_name(), place);
  OMNIBAL_RETURN_IF_ERROR(check_question(fields, asked, place));
  OMNIBAL_ASSIGN(const double step_s, positive(claimed, "step_s", place));
  OMNIBAL_ASSIGN(const double best_s, positive(claimed, "best_step_s", place));
  if (best_s > step_s) return violation("{}: knowing it, a step takes longer", place);
  OMNIBAL_ASSIGN(const double loss, fields.number("loss", 0, 1e15));
  if (std::abs(loss - (step_s / best_s - 1)) > kRounding) {
    return violation("{}: the loss is {}, not {}", place, loss, step_s / best_s - 1);
  }
  OMNIBAL_ASSIGN(const plan::CutsAndChoices knowing,
                 plan::read_cuts_and_choices(fields, *plan.profile(),
                                             static_cast<std::int64_t>(pipeline.cuts.size()) + 1));
  OMNIBAL_RETURN_IF_ERROR(check_fits(plan, pipeline, knowing, place));
  const cost::Profile profile = plan::scaled(*plan.profile(), asked.part, asked.factor);
  const plan::CutsAndChoices own{pipeline.cuts, pipeline.choices};
  OMNIBAL_ASSIGN(const double own_s, seconds_with(plan, pipeline, profile, own, threads));
  OMNIBAL_RETURN_IF_ERROR(agree_all(claimed, {{"step_s", own_s}}, place));
  if (knowing.cuts == own.cuts && knowing.choices == own.choices) {
    return agree_all(claimed, {{"best_step_s", own_s}}, place);
  }
  OMNIBAL_ASSIGN(const double knowing_s, seconds_with(plan, pipeline, profile, knowing, threads));
  return agree_all(claimed, {{"best_step_s", knowing_s}}, place);
}

}  // namespace

Finding check_sensitivity(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                          const VerifyOptions& options) {
  OMNIBAL_ASSIGN(const Json* cases,
                 JsonFields(plan.document(), plan::plan_document_name()).array("sensitivity"));
  const std::vector<plan::SensitivityCase> asked = plan::cases_of(*plan.profile());
  if (cases->size() != asked.size()) {
    return violation("sensitivity has {} cases, the profile's parts have {}", cases->size(),
                     asked.size());
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    OMNIBAL_RETURN_IF_ERROR(check_case(plan, pipeline, (*cases)[i], asked[i], i, options.threads));
  }
  return fmt::format("{} cases of other layer times simulated", asked.size());
}

}  // namespace omnibal::verify
