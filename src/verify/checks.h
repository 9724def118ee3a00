// SPDX-License-Identifier: Apache-2.0
//
// The single checks of `verify_plan`. Each returns what it verified, or the first violation as an
// Error of kInvalidPlan.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

#include "omnibal/base/result.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/verify/verify.h"

namespace omnibal::verify {

/// What was checked, in words: "18987 packs hold 30730 samples, each once".
using Finding = Result<std::string>;

struct NamedCheck {
  std::string_view name;
  std::function<Finding()> run;
};

/// The verdict of one check. An exception (no memory left) fails it: it could not be checked.
Check run_check(const NamedCheck& check);

template <class... Arguments>
Error violation(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return Error(ErrorCode::kInvalidPlan, fmt::format(text, std::forward<Arguments>(arguments)...));
}

/// `claimed` (key of the document) against what the arrays say.
Status agree(const codec::Json& object, std::string_view key, std::int64_t counted);
/// Up to the rounding of sums that are taken in another order.
Status agree(const codec::Json& object, std::string_view key, double computed);

/// Every member of `computed` against the one of `claimed`: numbers as above, all else equal.
/// `place` opens what is told.
Status agree_all(const codec::Json& claimed, const codec::Json& computed, const std::string& place);

/// `limits` of plan.json.
struct Caps {
  std::int64_t vision_units = 0;
  std::int64_t tokens = 0;
  std::int64_t samples = 0;  // 0: any number
  std::int64_t token_multiple = 1;

  /// What no pack may pass: `tokens` less what rounding up would push over it.
  metrics::PackCaps usable() const {
    return {vision_units, tokens / token_multiple * token_multiple, samples};
  }
};
Result<Caps> caps_of(const plan::PlanReader& plan);

/// Offsets ascend from 0 to the number of members and ids are corpus indices: what every check
/// that looks into packs asks first.
Status check_structure(const plan::PlanReader& plan);
/// Each corpus index is in a pack or not; in two: a violation.
Result<std::vector<bool>> placed_samples(const plan::PlanReader& plan);
/// No sample in a pack is above the caps by itself, whether or not its method pads.
Status check_samples_fit(const plan::PlanReader& plan, const metrics::PackCaps& caps);
bool is_padded(const plan::PlanReader& plan);
/// Samples of a pack; after check_structure.
std::int64_t pack_size(const plan::PlanReader& plan, std::size_t pack);

Finding check_checksums(const std::string& directory);

Finding check_exactly_once(const plan::PlanReader& plan);
Finding check_rejected(const plan::PlanReader& plan, const std::string& directory);
Finding check_truncated(const plan::PlanReader& plan, const std::string& directory);
Finding check_loads(const plan::PlanReader& plan);
Finding check_caps(const plan::PlanReader& plan);
Finding check_supervised(const plan::PlanReader& plan);
Finding check_counts(const plan::PlanReader& plan);
Finding check_packing_metrics(const plan::PlanReader& plan);
Finding check_mix(const plan::PlanReader& plan);
Finding check_limits(const plan::PlanReader& plan);

Finding check_steps(const plan::PlanReader& plan);
Finding check_step_metrics(const plan::PlanReader& plan);
Finding check_epochs(const plan::PlanReader& plan);
Finding check_worst_pack(const plan::PlanReader& plan);
Finding check_step_mix(const plan::PlanReader& plan, const std::string& directory);

Finding check_parallel(const plan::PlanReader& plan);
Finding check_partition(const plan::PlanReader& plan);
Finding check_recompute(const plan::PlanReader& plan);
Finding check_memory(const plan::PlanReader& plan);
Finding check_prediction(const plan::PlanReader& plan, const VerifyOptions& options);
Finding check_ablation(const plan::PlanReader& plan, const VerifyOptions& options);
Finding check_explanations(const plan::PlanReader& plan, const VerifyOptions& options);

Finding check_inputs(const plan::PlanReader& plan, const std::string& directory);

}  // namespace omnibal::verify
