// SPDX-License-Identifier: Apache-2.0
//
// What explains a plan beside its ablation: the certificate of its cuts, their sensitivity, and the
// comparisons that were asked for.
#include <cmath>
#include <limits>

#include "checks.h"
#include "model_claims.h"
#include "omnibal/plan/schedule_spec.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

Status check_zero3(const Json& zero3, double gpus) {
  const JsonFields fields(zero3, plan::plan_document_name(), "zero3");
  OMNIBAL_RETURN_IF_ERROR(positive(zero3, "achieved_flops", "zero3"));
  for (const char* run : {"baseline", "balanced", "planned"}) {
    OMNIBAL_ASSIGN(const Json* claimed, fields.object(run));
    const std::string place = fmt::format("zero3.{}", run);
    OMNIBAL_ASSIGN(const double step_s, positive(*claimed, "step_s", place));
    OMNIBAL_ASSIGN(const double steps, positive(*claimed, "steps", place));
    OMNIBAL_RETURN_IF_ERROR(
        agree_all(*claimed, {{"gpu_days", step_s * steps * gpus / 86400}}, place));
  }
  return {};
}

bool is_null(const Json& options, const char* key) {
  return options.contains(key) && options.at(key).is_null();
}

/// A search was made for sizes that were not given, and for a schedule of several ranks.
bool was_searched(const Json& options, std::int64_t pp) {
  return options.contains("hours") || is_null(options, "tp") || is_null(options, "pp") ||
         is_null(options, "dp") || (pp > 1 && is_null(options, "schedule"));
}

/// Nothing that was asked for is missing.
Status check_asked(const JsonFields& root, std::int64_t pp) {
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_ASSIGN(
      const Json* options,
      JsonFields(*provenance, plan::plan_document_name(), "provenance").object("options"));
  const JsonFields asked(*options, plan::plan_document_name(), "provenance.options");
  OMNIBAL_ASSIGN(const std::string layout, asked.text_or("layout", "integrated"));
  for (const auto& [key, is_asked] :
       {std::pair("layouts", layout != "integrated"), std::pair("zero3", asked.has("zero3")),
        std::pair("search", was_searched(*options, pp))}) {
    if (is_asked && !root.has(key)) {
      return violation("plan.json lacks \"{}\", provenance.options asks for it", key);
    }
  }
  return {};
}

/// Comparisons that a plan has only where they were asked for.
Result<std::string> check_comparisons(const plan::PlanReader& plan,
                                      const plan::PlanPipeline& pipeline) {
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_RETURN_IF_ERROR(check_asked(root, pipeline.sizes.pp));
  std::string checked;
  if (root.has("zero3")) {
    OMNIBAL_ASSIGN(const Json* zero3, root.object("zero3"));
    OMNIBAL_RETURN_IF_ERROR(check_zero3(*zero3, static_cast<double>(pipeline.sizes.gpus())));
    checked += "; ZeRO-3 agrees with itself";
  }
  if (root.has("layouts")) {
    OMNIBAL_ASSIGN(const Json* layouts, root.object("layouts"));
    OMNIBAL_RETURN_IF_ERROR(check_layouts(plan, pipeline, *layouts));
    checked += "; the integrated layout is the plan, the others agree with themselves";
  }
  if (root.has("search")) {
    OMNIBAL_ASSIGN(const Json* search, root.object("search"));
    OMNIBAL_RETURN_IF_ERROR(check_search(plan, *search));
    checked += "; the plan is the first of the search's candidates";
  }
  return checked;
}

}  // namespace

Result<double> positive(const Json& object, std::string_view key, const std::string& place) {
  return JsonFields(object, plan::plan_document_name(), place)
      .number(key, std::numeric_limits<double>::min(), 1e15);
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

Status check_shares(const Json& object, const std::string& place) {
  OMNIBAL_ASSIGN(const Json* shares,
                 JsonFields(object, plan::plan_document_name(), place).object("shares"));
  const JsonFields fields(*shares, plan::plan_document_name(), place + ".shares");
  OMNIBAL_ASSIGN(const double idle, fields.number("idle", 0, 1));
  double sum = idle;
  for (const char* share : {"model", "replicated", "tensor", "recompute"}) {
    OMNIBAL_ASSIGN(const double part, fields.number(share, -1, 2));
    sum += part;
  }
  if (std::abs(sum - 1) <= kRounding || (idle == 0 && sum > 1)) return {};
  return violation("{}.shares add up to {}", place, sum);
}

codec::Json schedule_of(const plan::PlanPipeline& pipeline) {
  const schedule::Schedule& lists = pipeline.schedule;
  return plan::to_json(plan::ScheduleSpec{
      lists.kind, static_cast<std::int32_t>(lists.stage_rank.size() / lists.ranks.size())});
}

Finding check_explanations(const plan::PlanReader& plan, const VerifyOptions& options) {
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_ASSIGN(const std::string certificate, check_certificate(plan, pipeline));
  OMNIBAL_ASSIGN(const std::string sensitivity, check_sensitivity(plan, pipeline, options));
  OMNIBAL_ASSIGN(const std::string comparisons, check_comparisons(plan, pipeline));
  return certificate + "; " + sensitivity + comparisons;
}

}  // namespace omnibal::verify
