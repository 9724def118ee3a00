// SPDX-License-Identifier: Apache-2.0
//
// The single checks of `verify_plan`. Each returns what it verified, or the first violation as an
// Error of kInvalidPlan.
#pragma once

#include <fmt/format.h>

#include <string>

#include "omnibal/base/result.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/verify/verify.h"

namespace omnibal::verify {

/// What was checked, in words: "18987 packs hold 30730 samples, each once".
using Finding = Result<std::string>;

template <class... Arguments>
Error violation(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return Error(ErrorCode::kInvalidPlan, fmt::format(text, std::forward<Arguments>(arguments)...));
}

/// `claimed` (key of the document) against what the arrays say.
Status agree(const codec::Json& object, std::string_view key, std::int64_t counted);
Status agree(const codec::Json& object, std::string_view key, double computed);

Finding check_checksums(const std::string& directory);

Finding check_exactly_once(const plan::PlanReader& plan);
Finding check_rejected(const plan::PlanReader& plan, const std::string& directory);
Finding check_loads(const plan::PlanReader& plan);
Finding check_caps(const plan::PlanReader& plan);
Finding check_supervised(const plan::PlanReader& plan);
Finding check_counts(const plan::PlanReader& plan);
Finding check_packing_metrics(const plan::PlanReader& plan);

Finding check_steps(const plan::PlanReader& plan);
Finding check_step_metrics(const plan::PlanReader& plan);

Finding check_parallel(const plan::PlanReader& plan);
Finding check_partition(const plan::PlanReader& plan);
Finding check_recompute(const plan::PlanReader& plan);
Finding check_memory(const plan::PlanReader& plan);
Finding check_prediction(const plan::PlanReader& plan, const VerifyOptions& options);

Finding check_inputs(const plan::PlanReader& plan);

}  // namespace omnibal::verify
