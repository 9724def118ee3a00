// SPDX-License-Identifier: Apache-2.0
//
// What differs between two plans, of all that a plan decides and promises.
//
//   for (const PlanChange& change : plan_changes(other.document(), document)) {
//     change.key;      // "prediction.step_s"
//     change.ratio;    // 0.92: 8 % less than in the other
//   }
//
// Not a comparison of packs sample by sample: those of two caps share none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "omnibal/codec/json.h"

namespace omnibal::plan {

struct PlanChange {
  std::string key;                             // of plan.json, with dots
  codec::Json other;                           // null: the other plan does not say
  codec::Json now;                             // null: this plan does not say
  std::optional<double> ratio = std::nullopt;  // now / other, of numbers that are not 0
};

/// Both are the members of a plan.json. In the order of the file: inputs and limits, sizes,
/// schedule, cuts, recomputation, prediction. O(size of the documents).
std::vector<PlanChange> plan_changes(const codec::Json& other, const codec::Json& now);

/// [{key, other, now, ratio}].
codec::Json to_json(const std::vector<PlanChange>& changes);

}  // namespace omnibal::plan
