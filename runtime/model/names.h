// SPDX-License-Identifier: Apache-2.0
//
// The names of weights: those of files (`language_model.model.layers.0...`), and under which others
// a file may hold them.
//
//   vision_names(Family::kLlava).pre_norm;             // "pre_layrnorm"
//   accepted_names("language_model.lm_head.weight");   // that, and "lm_head.weight"
//
// Not shapes: make_layers.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "omnibal/runtime/config/model_config.h"

namespace omnibal::runtime {

/// Relative to "vision_tower."; of a block relative to "vision_tower." + blocks + index + ".".
struct VisionNames {
  std::string_view class_token, patches, positions, pre_norm, mask_token, final_norm, blocks;
  std::string_view norm1, norm2, query, key, value, output, query_norm, key_norm, scale1, scale2;
};
const VisionNames& vision_names(Family family);

inline constexpr std::string_view kTower = "vision_tower.";
inline constexpr std::string_view kTokenTable = "language_model.model.embed_tokens.weight";
inline constexpr std::string_view kHeadTable = "language_model.lm_head.weight";

/// Where a file may hold the weight of this name: the name itself; that of `state_dict()`
/// (`model.language_model.layers.0...`, `lm_head.weight`); that of files before transformers 5
/// (`vision_tower.vision_model...`).
std::vector<std::string> accepted_names(const std::string& name);

}  // namespace omnibal::runtime
