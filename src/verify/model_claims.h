// SPDX-License-Identifier: Apache-2.0
//
// The parts of what explains a plan, each in a file of its own. Each returns what it verified.
#pragma once

#include <string>

#include "checks.h"
#include "omnibal/plan/plan_pipeline.h"

namespace omnibal::verify {

/// Of quotients that are written beside what they are made of.
inline constexpr double kRounding = 1e-9;

/// The members of an object of plan.json; `place` is its path in there.
inline codec::JsonFields fields_of(const codec::Json& object, const std::string& place) {
  return {object, plan::plan_document_name(), place};
}

Finding check_certificate(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline);
Finding check_sensitivity(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                          const VerifyOptions& options);
Status check_layouts(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                     const codec::Json& layouts);
Status check_search(const plan::PlanReader& plan, const codec::Json& search);

/// `gap` of a certificate follows from its lower_bound_s, which is not above `bottleneck_s`.
Status check_gap(const codec::Json& certificate, double bottleneck_s);
/// `shares` of an object are parts of one time; what is left after the others is idle, but never
/// below 0.
Status check_shares(const codec::Json& object, const std::string& place);
/// A number above 0.
Result<double> positive(const codec::Json& object, std::string_view key, const std::string& place);
/// The schedule with its chunks, as plan.json writes it.
codec::Json schedule_of(const plan::PlanPipeline& pipeline);

}  // namespace omnibal::verify
