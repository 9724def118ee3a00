// SPDX-License-Identifier: Apache-2.0
//
// How a claim of plan.json is compared with what was computed.
#include <algorithm>
#include <cmath>

#include "checks.h"
#include "omnibal/pack/packs.h"

namespace omnibal::verify {

Status agree(const codec::Json& object, std::string_view key, std::int64_t counted) {
  const auto found = object.find(key);
  if (found == object.end()) return violation("plan.json lacks \"{}\"", key);
  if (!found->is_number_integer() || found->get<std::int64_t>() != counted) {
    return violation("plan.json says {} {}, the arrays say {}", key, found->dump(), counted);
  }
  return {};
}

Status agree(const codec::Json& object, std::string_view key, double computed) {
  constexpr double kRelative = 1e-9;
  constexpr double kAbsolute = 1e-12;  // of what is 0 but for rounding: a variance, a ratio
  const auto found = object.find(key);
  if (found == object.end()) return violation("plan.json lacks \"{}\"", key);
  const double tolerance = kRelative * std::abs(computed) + kAbsolute;
  if (!found->is_number() || !(std::abs(found->get<double>() - computed) <= tolerance)) {
    return violation("plan.json says {} {}, recomputed it is {}", key, found->dump(), computed);
  }
  return {};
}

Status agree_all(const codec::Json& claimed, const codec::Json& computed,
                 const std::string& place) {
  if (computed.is_number_float()) return agree({{place, claimed}}, place, computed.get<double>());
  if (!computed.is_structured()) {
    if (claimed == computed) return {};
    return violation("plan.json says {} {}, recomputed it is {}", place, claimed.dump(),
                     computed.dump());
  }
  if (claimed.type() != computed.type() ||
      (computed.is_array() && claimed.size() != computed.size())) {
    return violation("plan.json says {} {}", place, claimed.dump());
  }
  for (const auto& [key, value] : computed.items()) {
    const std::string inner = fmt::format("{}.{}", place, key);
    if (computed.is_object() && !claimed.contains(key)) {
      return violation("plan.json lacks \"{}\"", inner);
    }
    const codec::Json& other =
        computed.is_object() ? claimed[key] : claimed[static_cast<std::size_t>(std::stoul(key))];
    OMNIBAL_RETURN_IF_ERROR(agree_all(other, value, inner));
  }
  return {};
}

Result<Caps> caps_of(const plan::PlanReader& plan) {
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;
  OMNIBAL_ASSIGN(const codec::Json* limits,
                 codec::JsonFields(plan.document(), plan::plan_document_name()).object("limits"));
  const codec::JsonFields fields(*limits, plan::plan_document_name(), "limits");
  Caps caps;
  OMNIBAL_ASSIGN(caps.vision_units, fields.integer("vision_cap", 1, pack::kLargestCap));
  OMNIBAL_ASSIGN(caps.tokens, fields.integer("token_cap", 1, pack::kLargestCap));
  for (const char* floor : {"vision_floor", "token_floor"}) {
    OMNIBAL_RETURN_IF_ERROR(fields.integer(floor, 0, INT64_MAX));
  }
  OMNIBAL_RETURN_IF_ERROR(fields.integer("rounds", 1, pack::kLargestCap));
  OMNIBAL_RETURN_IF_ERROR(fields.text("chosen_by"));
  OMNIBAL_ASSIGN(caps.samples, fields.integer_or("max_samples", 0, 0, kMostSamples));
  OMNIBAL_ASSIGN(caps.token_multiple, fields.integer_or("token_multiple", 1, 1, caps.tokens));
  return caps;
}

}  // namespace omnibal::verify
