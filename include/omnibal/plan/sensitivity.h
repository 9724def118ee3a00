// SPDX-License-Identifier: Apache-2.0
//
// Sensitivity: what the choice of cuts and recomputation loses if layers take longer or shorter
// than the profile says.
//
//   plan.sensitivity[0].loss;                       // vision layers 10 % faster: 0.004
//   scaled(profile, ModelPart::kVision, 0.9);       // that profile
//
// Not for errors of the whole profile alike: they change no choice.
#pragma once

#include <string_view>
#include <vector>

#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"

namespace omnibal::plan {

/// kVision: patch embedding, ViT blocks, projector; kLanguage: token embedding, LLM blocks, head.
enum class ModelPart { kVision, kLanguage };
std::string_view to_string(ModelPart part);  // "vision", "language"

struct SensitivityCase {
  ModelPart part = ModelPart::kVision;
  double factor = 1;                   // times the seconds of the part's layers
  double step_s = 0;                   // mean over the epoch with the plan's cuts and recomputation
  double best_step_s = 0;              // with those chosen for the scaled profile
  double loss = 0;                     // step_s / best_step_s - 1
  partition::Cuts cuts;                // chosen for the scaled profile
  recompute::RecomputeMask recompute;  // layers that spare memory at all
  std::vector<cost::NamedChoice> named;  // those that do not recompute all of themselves
};

/// The profile with all seconds of a part's layers `factor` times as long, but for the waits of the
/// choice "offload". Layers without a kind are of no part.
cost::Profile scaled(cost::Profile profile, ModelPart part, double factor);

/// The cases that a plan with this profile has: part and factor alone.
std::vector<SensitivityCase> cases_of(const cost::Profile& profile);

/// [{part, factor, step_s, best_step_s, loss, cuts, recompute, recompute_choice}].
codec::Json to_json(const std::vector<SensitivityCase>& cases);

}  // namespace omnibal::plan
