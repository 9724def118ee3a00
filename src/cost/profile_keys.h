// SPDX-License-Identifier: Apache-2.0
//
// The costs of a layer in profile.json: one table for reading, refusing unknown keys and
// writing.
#pragma once

#include <array>
#include <string_view>

#include "omnibal/cost/profile.h"

namespace omnibal::cost {

inline constexpr std::string_view kProfileFormat = "omnibal.profile";
inline constexpr std::int64_t kProfileVersion = 1;

struct CostKey {
  std::string_view name;
  LinearCost LayerProfile::*member;
  /// What an absent value equals; null: nothing (bytes) or an error (forward_s).
  LinearCost LayerProfile::*fallback = nullptr;
  bool required = false;
};

inline constexpr std::array kCostKeys = {
    CostKey{"forward_s", &LayerProfile::forward_s, nullptr, true},
    CostKey{"input_grad_s", &LayerProfile::input_grad_s, &LayerProfile::forward_s},
    CostKey{"weight_grad_s", &LayerProfile::weight_grad_s, &LayerProfile::forward_s},
    CostKey{"recompute_s", &LayerProfile::recompute_s, &LayerProfile::forward_s},
    CostKey{"activation_bytes", &LayerProfile::activation_bytes},
    CostKey{"recomputed_bytes", &LayerProfile::recomputed_bytes, &LayerProfile::activation_bytes},
    CostKey{"static_bytes", &LayerProfile::static_bytes},
    CostKey{"boundary_bytes", &LayerProfile::boundary_bytes},
};

inline constexpr std::string_view kTransientKey = "transient_bytes";
inline constexpr std::string_view kChoicesKey = "recompute_choices";

/// Every key of a layer.
inline constexpr auto kLayerKeys = [] {
  std::array<std::string_view, 7 + kCostKeys.size()> keys = {
      "name", "kind", "trainable", "parameters", "adapter_parameters", kTransientKey, kChoicesKey};
  for (std::size_t i = 0; i < kCostKeys.size(); ++i) keys[7 + i] = kCostKeys[i].name;
  return keys;
}();

/// The costs of a choice, all but `transient_bytes` required.
struct ChoiceKey {
  std::string_view name;
  LinearCost RecomputeChoice::*member;
};
inline constexpr std::array kChoiceKeys = {
    ChoiceKey{"recompute_s", &RecomputeChoice::recompute_s},
    ChoiceKey{"kept_bytes", &RecomputeChoice::kept_bytes},
    ChoiceKey{kTransientKey, &RecomputeChoice::transient_bytes},
};

struct TermKey {
  std::string_view name;
  double LinearCost::*member;
};

inline constexpr std::array kTermKeys = {
    TermKey{"constant", &LinearCost::constant},
    TermKey{"per_vision_unit", &LinearCost::per_vision_unit},
    TermKey{"per_token", &LinearCost::per_token},
    TermKey{"per_token_pair", &LinearCost::per_token_pair},
};

/// Every key of a cost that depends on the load.
inline constexpr auto kTermNames = [] {
  std::array<std::string_view, kTermKeys.size()> names;
  for (std::size_t i = 0; i < kTermKeys.size(); ++i) names[i] = kTermKeys[i].name;
  return names;
}();

}  // namespace omnibal::cost
