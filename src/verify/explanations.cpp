// SPDX-License-Identifier: Apache-2.0
//
// What explains a plan beside its ablation: the certificate of its cuts, their sensitivity, and the
// comparisons that were asked for.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"
#include "omnibal/plan/plan_pipeline.h"
#include "omnibal/plan/sensitivity.h"
#include "simulated_epoch.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kRounding = 1e-9;

Result<double> positive(const Json& object, const char* key, const std::string& place) {
  return JsonFields(object, plan::plan_document_name(), place)
      .number(key, std::numeric_limits<double>::min(), 1e15);
}

/// Seconds a micro-batch of the busiest rank, every micro-batch the mean pack.
double bottleneck_seconds(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline) {
  const cost::Load mean = metrics::mean_load(plan.pack_loads());
  std::vector<double> ranks(pipeline.schedule.ranks.size(), 0.0);
  const std::vector<simulate::StageCost> stages =
      simulate::stage_costs(pipeline.profile, pipeline.cuts, pipeline.recompute);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    ranks[static_cast<std::size_t>(pipeline.schedule.stage_rank[s].value())] +=
        stages[s].forward_s.at(mean) + stages[s].backward_s.at(mean) +
        stages[s].recompute_s.at(mean);
  }
  return std::ranges::max(ranks);
}

Status check_gap(const Json& certificate, double bottleneck_s) {
  OMNIBAL_ASSIGN(const double bound_s, positive(certificate, "lower_bound_s", "certificate"));
  if (bound_s > bottleneck_s * (1 + kRounding)) {
    return violation("certificate.lower_bound_s is {} s, the slowest rank takes {} s", bound_s,
                     bottleneck_s);
  }
  OMNIBAL_ASSIGN(
      const double gap,
      JsonFields(certificate, plan::plan_document_name(), "certificate").number("gap", 0, 1e15));
  if (std::abs(gap - (bottleneck_s / bound_s - 1)) > kRounding) {
    return violation("certificate.gap is {}, not {}", gap, bottleneck_s / bound_s - 1);
  }
  return {};
}

/// The plan's own cuts and recomputation where layers take other times.
Result<double> seconds_if(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                          const cost::Profile& profile, int threads) {
  plan::StepPipeline steps = pipeline.steps;
  steps.stages = simulate::stage_costs(profile, pipeline.cuts, pipeline.recompute);
  return mean_step_seconds(plan, steps, threads);
}

Result<plan::ModelPart> part_of(const JsonFields& fields) {
  OMNIBAL_ASSIGN(const std::string name, fields.text("part"));
  for (const plan::ModelPart part : {plan::ModelPart::kVision, plan::ModelPart::kLanguage}) {
    if (name == plan::to_string(part)) return part;
  }
  return violation("sensitivity: there is no part \"{}\"", name);
}

/// A wait for the host's memory does not scale with the layer: those plans are taken as given.
bool offloads(const plan::PlanReader& plan) {
  const Json& document = plan.document();
  return document.contains("recompute_choice") &&
         std::ranges::any_of(document.at("recompute_choice"),
                             [](const Json& name) { return name == cost::kOffloadChoice; });
}

Status check_case(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                  const Json& claimed, int threads) {
  const JsonFields fields(claimed, plan::plan_document_name(), "sensitivity");
  OMNIBAL_ASSIGN(const plan::ModelPart part, part_of(fields));
  OMNIBAL_ASSIGN(const double factor, fields.number("factor", 0.01, 100));
  OMNIBAL_ASSIGN(const double step_s, positive(claimed, "step_s", "sensitivity"));
  OMNIBAL_ASSIGN(const double best_s, positive(claimed, "best_step_s", "sensitivity"));
  if (best_s > step_s) return violation("sensitivity: knowing it, a step takes longer");
  OMNIBAL_ASSIGN(const double loss, fields.number("loss", 0, 1e15));
  if (std::abs(loss - (step_s / best_s - 1)) > kRounding) {
    return violation("sensitivity: the loss is {}, not {}", loss, step_s / best_s - 1);
  }
  if (offloads(plan)) return {};
  OMNIBAL_ASSIGN(const double found_s,
                 seconds_if(plan, pipeline, plan::scaled(pipeline.profile, part, factor), threads));
  return agree(claimed, "step_s", found_s);
}

Status check_certificate(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline) {
  OMNIBAL_ASSIGN(const Json* certificate,
                 JsonFields(plan.document(), plan::plan_document_name()).object("certificate"));
  const double bottleneck_s = bottleneck_seconds(plan, pipeline);
  OMNIBAL_RETURN_IF_ERROR(agree(*certificate, "bottleneck_s", bottleneck_s));
  return check_gap(*certificate, bottleneck_s);
}

Status check_sensitivity(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                         int threads) {
  OMNIBAL_ASSIGN(const Json* cases,
                 JsonFields(plan.document(), plan::plan_document_name()).array("sensitivity"));
  for (const Json& one : *cases) {
    OMNIBAL_RETURN_IF_ERROR(check_case(plan, pipeline, one, threads));
  }
  return {};
}

Status check_zero3(const Json& zero3, double gpus) {
  for (const char* run : {"baseline", "balanced", "planned"}) {
    OMNIBAL_ASSIGN(const Json* claimed,
                   JsonFields(zero3, plan::plan_document_name(), "zero3").object(run));
    OMNIBAL_ASSIGN(const double step_s, positive(*claimed, "step_s", run));
    OMNIBAL_ASSIGN(const double steps, positive(*claimed, "steps", run));
    OMNIBAL_RETURN_IF_ERROR(agree(*claimed, "gpu_days", step_s * steps * gpus / 86400));
  }
  return {};
}

/// What a layout takes is not below what it is claimed to take at least.
Status check_bounds(const Json& layout) {
  const JsonFields fields(layout, plan::plan_document_name(), "layouts.ranked");
  OMNIBAL_ASSIGN(const double gpu_days, fields.number("gpu_days", 0, 1e15));
  OMNIBAL_ASSIGN(const Json* bound, fields.object("bound"));
  OMNIBAL_ASSIGN(const double least_days, positive(*bound, "gpu_days", "layouts.ranked.bound"));
  if (least_days > gpu_days * (1 + kRounding)) {
    return violation("layouts: {} GPU days are below their bound {}", gpu_days, least_days);
  }
  OMNIBAL_ASSIGN(const Json* certificate, fields.object("certificate"));
  OMNIBAL_ASSIGN(const double slowest_s, positive(*certificate, "bottleneck_s", "certificate"));
  return check_gap(*certificate, slowest_s);
}

Status check_layouts(const plan::PlanReader& plan, const Json& layouts, double gpus) {
  OMNIBAL_ASSIGN(const Json* ranked,
                 JsonFields(layouts, plan::plan_document_name(), "layouts").array("ranked"));
  const Json& document = plan.document();
  double fastest_s = 0;
  for (const Json& one : *ranked) {
    OMNIBAL_ASSIGN(const double step_s, positive(one, "step_s", "layouts.ranked"));
    if (step_s < fastest_s) return violation("layouts.ranked is not in the order of step_s");
    fastest_s = step_s;
    const auto steps = static_cast<double>(plan.steps()->num_steps);
    OMNIBAL_RETURN_IF_ERROR(agree(one, "gpu_days", step_s * steps * gpus / 86400));
    OMNIBAL_RETURN_IF_ERROR(check_bounds(one));
    if (one.at("layout") != document.at("layout")) continue;
    OMNIBAL_RETURN_IF_ERROR(agree(document.at("prediction"), "step_s", step_s));
  }
  if (ranked->empty() || (*ranked)[0].at("layout") != layouts.at("best")) {
    return violation("layouts.best is not the first of layouts.ranked");
  }
  return {};
}

/// The plan is what the search found best.
Status check_search(const Json& document) {
  OMNIBAL_ASSIGN(
      const Json* candidates,
      JsonFields(document.at("search"), plan::plan_document_name(), "search").array("candidates"));
  if (candidates->empty()) return violation("search.candidates is empty");
  const Json& best = (*candidates)[0];
  if (best.at("schedule") != document.at("schedule")) {
    return violation("the plan's schedule is not that of search.candidates[0]");
  }
  for (const char* size : {"tp", "pp", "dp"}) {
    if (best.at("parallel").at(size) != document.at("parallel").at(size)) {
      return violation("the plan's {} is not that of search.candidates[0]", size);
    }
  }
  return {};
}

}  // namespace

Finding check_explanations(const plan::PlanReader& plan, const VerifyOptions& options) {
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_RETURN_IF_ERROR(check_certificate(plan, pipeline));
  OMNIBAL_RETURN_IF_ERROR(check_sensitivity(plan, pipeline, options.threads));
  const Json& document = plan.document();
  const auto gpus = static_cast<double>(pipeline.sizes.gpus());
  if (document.contains("zero3")) {
    OMNIBAL_RETURN_IF_ERROR(check_zero3(document.at("zero3"), gpus));
  }
  if (document.contains("layouts")) {
    OMNIBAL_RETURN_IF_ERROR(check_layouts(plan, document.at("layouts"), gpus));
  }
  if (document.contains("search")) OMNIBAL_RETURN_IF_ERROR(check_search(document));
  return std::string(
      "the slowest rank and steps of other layer times recomputed; the bound and what was found "
      "for other times, layouts and ZeRO-3 agree with themselves");
}

}  // namespace omnibal::verify
