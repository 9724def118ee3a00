// SPDX-License-Identifier: Apache-2.0
//
// ModelSpec: a vision-language model as the planner sees it: shapes of its parts, and the ordered
// layers that a pipeline cut may separate (ViT blocks with the patch embedding folded into the
// first, projector, token embedding, LLM blocks, head).
//
//   OMNIBAL_ASSIGN(const ModelSpec model, load_model("internvl-chat-1.5-26b"));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::model {

enum class LayerKind {
  kPatchEmbedding,
  kVisionBlock,
  kProjector,
  kTokenEmbedding,
  kLlmBlock,
  kHead
};

/// "vision_block" and so on, as in profile files.
std::string_view to_string(LayerKind kind);
Result<LayerKind> parse_layer_kind(std::string_view text);

struct Layer {
  std::string name;  // "vision.0", "llm.47"
  LayerKind kind = LayerKind::kLlmBlock;
  bool trainable = true;
  std::int64_t parameters = 0;
};

struct VisionTower {
  std::string name;
  std::int64_t num_layers = 0;
  std::int64_t width = 0;
  std::int64_t num_heads = 0;
  std::int64_t mlp_width = 0;
  std::int64_t patch_size = 14;
  std::int64_t image_size = 448;
  std::int64_t tokens_per_unit = 1025;  // with the class token where there is one
  bool gated_mlp = false;               // three matrices instead of two
  bool qkv_bias = true;
  bool qk_norm = false;
  bool layer_scale = false;
  bool norm_bias = true;  // LayerNorm; false: RMSNorm
  bool trainable = true;
};

struct LanguageModel {
  std::string name;
  std::int64_t num_layers = 0;
  std::int64_t width = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t mlp_width = 0;  // SwiGLU: three matrices
  std::int64_t vocabulary = 0;
  bool tied_embedding = false;
  bool qkv_bias = false;
  bool trainable = true;
};

struct Projector {
  std::int64_t input_width = 0;  // after pixel shuffle
  std::int64_t hidden_width = 0;
  std::int64_t output_width = 0;
  std::int64_t tokens_per_unit = 256;  // LLM tokens of a vision unit
  bool input_norm = true;
  bool trainable = true;
};

struct ModelSpec {
  std::string name;
  VisionTower vision;
  Projector projector;
  LanguageModel language;
  std::vector<Layer> layers;

  std::int64_t parameters() const;
};

/// A preset ("internvl-chat-1.5-26b"), a pair "VISION+LLM" of known parts in lower case
/// ("internvit-6b+internlm2-20b"), or the path of a Hugging Face config.json (or of its
/// directory). Errors: kUnknownPreset (with the nearest names), kFileNotFound,
/// kUnsupportedModel, ...
Result<ModelSpec> load_model(const std::string& name_or_path);

/// Freezes "vision", "llm" or "projector". Error: kInvalidArgument.
Status freeze(ModelSpec& model, std::string_view part);

/// Names of all presets, vision towers and language models, for help and completion.
std::vector<std::string> model_presets();
std::vector<std::string> vision_tower_names();
std::vector<std::string> language_model_names();

}  // namespace omnibal::model
