// SPDX-License-Identifier: Apache-2.0
//
// How the caps were chosen: by whom, and what explains them.
#include <algorithm>
#include <array>
#include <cmath>

#include "checks.h"
#include "model_claims.h"
#include "omnibal/plan/data_plan.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;
using plan::CapSource;

constexpr std::array<std::string_view, 4> kBinding = {"given", "largest_sample", "memory", "time"};

Result<CapSource> read_source(const JsonFields& limits) {
  OMNIBAL_ASSIGN(const std::string name, limits.text("chosen_by"));
  for (const CapSource source : {CapSource::kGiven, CapSource::kPaper, CapSource::kAuto}) {
    if (name == plan::to_string(source)) return source;
  }
  return violation("limits.chosen_by is \"{}\", neither given, paper nor auto", name);
}

/// Caps as the user gave them, or those of the way that was asked for.
Status check_against_options(const JsonFields& limits, CapSource source, const Json& options) {
  const JsonFields asked = fields_of(options, "provenance.options");
  if (!asked.has("limits")) return {};  // written by the library
  OMNIBAL_ASSIGN(const std::string rule, asked.text("limits"));
  const bool both = asked.has("vision_cap") && asked.has("token_cap");
  const std::string_view expected = both ? plan::to_string(CapSource::kGiven) : rule;
  if (plan::to_string(source) != expected) {
    return violation("limits.chosen_by is {}, provenance.options says {}", plan::to_string(source),
                     expected);
  }
  for (const char* cap : {"vision_cap", "token_cap"}) {
    if (!asked.has(cap)) continue;
    OMNIBAL_ASSIGN(const std::int64_t given, asked.integer(cap, 1, INT64_MAX));
    OMNIBAL_ASSIGN(const std::int64_t used, limits.integer(cap, 1, INT64_MAX));
    if (given != used) return violation("limits.{} is {}, {} was given", cap, used, given);
  }
  return {};
}

/// A pair of caps beside the chosen one.
Status check_pair(const Json& pair, double best_s, const std::string& place) {
  const JsonFields fields = fields_of(pair, place);
  OMNIBAL_RETURN_IF_ERROR(fields.integer("vision_cap", 1, INT64_MAX));
  OMNIBAL_RETURN_IF_ERROR(fields.integer("token_cap", 1, INT64_MAX));
  OMNIBAL_ASSIGN(const bool fits, fields.boolean("fits"));
  if (!fits) return {};
  OMNIBAL_ASSIGN(const double seconds, positive(pair, "seconds_per_1000_samples", place));
  OMNIBAL_ASSIGN(const double slower_by, fields.number("slower_by", -1, 1e15));
  if (std::abs(slower_by - (seconds / best_s - 1)) <= kRounding) return {};
  return violation("{}.slower_by is {}, not {}", place, slower_by, seconds / best_s - 1);
}

Status check_cap(const JsonFields& explanation, const char* cap, double best_s) {
  OMNIBAL_ASSIGN(const Json* reason, explanation.object(cap));
  const std::string place = fmt::format("limits.explanation.{}", cap);
  const JsonFields fields = fields_of(*reason, place);
  OMNIBAL_ASSIGN(const std::string binds, fields.text("binds"));
  if (std::ranges::find(kBinding, binds) == kBinding.end()) {
    return violation("{}: nothing binds that is called \"{}\"", place, binds);
  }
  for (const char* other : {"smaller", "larger"}) {
    if (!fields.has(other)) continue;
    OMNIBAL_ASSIGN(const Json* pair, fields.object(other));
    OMNIBAL_RETURN_IF_ERROR(check_pair(*pair, best_s, place + "." + other));
  }
  return {};
}

/// What the caps were chosen for is the plan.
Status check_target(const plan::PlanReader& plan, const Json& explanation) {
  if (plan.profile() == nullptr || plan.steps() == nullptr) return {};
  const JsonFields root = fields_of(plan.document(), "");
  OMNIBAL_ASSIGN(const Json* cluster, root.object("cluster"));
  OMNIBAL_ASSIGN(const Json* parallel, root.object("parallel"));
  OMNIBAL_ASSIGN(const std::string model, root.text("model"));
  OMNIBAL_ASSIGN(const std::string cluster_name, fields_of(*cluster, "cluster").text("name"));
  OMNIBAL_ASSIGN(const std::int64_t memory_bytes, root.integer("memory_bytes", 0, INT64_MAX));
  Json sizes = Json::object();
  for (const char* size : {"tp", "pp", "dp"}) {
    OMNIBAL_ASSIGN(sizes[size], fields_of(*parallel, "parallel").integer(size, 1, INT64_MAX));
  }
  OMNIBAL_RETURN_IF_ERROR(agree_all(explanation,
                                    {{"model", model},
                                     {"cluster", cluster_name},
                                     {"parallel", sizes},
                                     {"memory_bytes", memory_bytes},
                                     {"micro_batches", plan.steps()->micro_batches}},
                                    "limits.explanation"));
  OMNIBAL_RETURN_IF_ERROR(
      fields_of(explanation, "limits.explanation").integer("peak_bytes", 0, memory_bytes));
  return {};
}

Status check_explanation(const plan::PlanReader& plan, const Json& explanation) {
  const std::string place = "limits.explanation";
  const JsonFields fields = fields_of(explanation, place);
  OMNIBAL_RETURN_IF_ERROR(check_target(plan, explanation));
  OMNIBAL_ASSIGN(const double best_s, positive(explanation, "seconds_per_1000_samples", place));
  for (const char* cap : {"vision", "tokens"}) {
    OMNIBAL_RETURN_IF_ERROR(check_cap(fields, cap, best_s));
  }
  if (fields.has("paper")) {
    OMNIBAL_ASSIGN(const Json* paper, fields.object("paper"));
    OMNIBAL_RETURN_IF_ERROR(check_pair(*paper, best_s, place + ".paper"));
  }
  OMNIBAL_ASSIGN(const Json* runners_up, fields.array("runners_up"));
  for (const Json& pair : *runners_up) {
    OMNIBAL_RETURN_IF_ERROR(check_pair(pair, best_s, place + ".runners_up"));
  }
  return {};
}

}  // namespace

Finding check_limits(const plan::PlanReader& plan) {
  const JsonFields root = fields_of(plan.document(), "");
  OMNIBAL_ASSIGN(const Json* json, root.object("limits"));
  const JsonFields limits = fields_of(*json, "limits");
  OMNIBAL_ASSIGN(const CapSource source, read_source(limits));
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_ASSIGN(const Json* options, fields_of(*provenance, "provenance").object("options"));
  OMNIBAL_RETURN_IF_ERROR(check_against_options(limits, source, *options));
  const bool explained = limits.has("explanation");
  if (explained != (source == CapSource::kAuto)) {
    return violation("limits.chosen_by is {}, and limits.explanation is {}",
                     plan::to_string(source), explained ? "there" : "not there");
  }
  if (explained) {
    OMNIBAL_ASSIGN(const Json* explanation, limits.object("explanation"));
    OMNIBAL_RETURN_IF_ERROR(check_explanation(plan, *explanation));
  }
  return fmt::format("caps are {}{}", plan::to_string(source),
                     explained ? "; what explains them agrees with the plan" : "");
}

}  // namespace omnibal::verify
