// SPDX-License-Identifier: Apache-2.0
//
// ModelConfig: everything a config.json says about the computation of a model: the planner's
// ModelSpec (shapes and layers) and what only an executor needs (norms, activations, rotary base).
// A value that the trainer does not compute exactly as transformers 5 does is refused by name.
//
//   OMNIBAL_ASSIGN(const ModelConfig config, read_model_config("InternVL3-1B-hf/"));
//   config.spec.layers.size();   // the planner's list: what stages are cut from
//   config.text.rope_theta;      // 1000000
//
// Not for presets, which have shapes alone: omnibal/model/model.h.
#pragma once

#include <cstdint>
#include <string>

#include "omnibal/base/result.h"
#include "omnibal/model/model.h"

namespace omnibal::runtime {

enum class Family { kInternVl, kLlava };

enum class Activation { kGelu, kQuickGelu };

/// A norm in front of attention and MLP of the vision tower.
enum class NormKind { kLayerNorm, kRmsNorm };

struct VisionConfig {
  NormKind norm = NormKind::kLayerNorm;
  double norm_eps = 1e-6;
  Activation activation = Activation::kGelu;
  /// Blocks in the file: those behind `spec.vision.num_layers` are read by no one, but kept.
  std::int64_t stored_blocks = 0;
  /// A norm behind the last block stands in the file / is applied to the features.
  bool stores_final_norm = false;
  bool applies_final_norm = false;
  bool stores_mask_token = false;
  /// "default" of vision_feature_select_strategy: the class token goes no further.
  bool drops_class_token = true;
};

struct ProjectorConfig {
  std::int64_t shuffle = 1;  // patches of a square of this side become one token
  Activation activation = Activation::kGelu;
};

struct TextConfig {
  double norm_eps = 1e-6;
  double rope_theta = 10000;
};

struct ModelConfig {
  Family family = Family::kInternVl;
  model::ModelSpec spec;
  VisionConfig vision;
  ProjectorConfig projector;
  TextConfig text;
  std::int64_t image_token = 0;  // the id whose places the vision features take

  /// LLM tokens of a vision unit.
  std::int64_t unit_tokens() const;
};

/// `path`: a config.json, or its directory. Errors: those of model::load_model;
/// kUnsupportedModel with key, value and what is supported.
Result<ModelConfig> read_model_config(const std::string& path);

}  // namespace omnibal::runtime
