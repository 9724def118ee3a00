// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "model/hugging_face.h"
#include "model/hugging_face_parts.h"
#include "model/layer_list.h"

namespace omnibal::model {
namespace {

/// CLIP or SigLIP: all of its layers.
Result<VisionTower> read_clip_tower(const ConfigPart& vision) {
  OMNIBAL_ASSIGN(const std::string type, vision.text_or("model_type", "clip_vision_model"));
  const bool clip = type == "clip_vision_model";
  OMNIBAL_RETURN_IF_ERROR(check_tower_type(vision, type, clip || type == "siglip_vision_model",
                                           "clip_vision_model, siglip_vision_model"));
  OMNIBAL_ASSIGN(const std::int64_t image_size, vision.square_side("image_size"));
  OMNIBAL_ASSIGN(VisionTower tower, read_tile_tower(vision, image_size));
  tower.class_token = clip;
  tower.pre_norm = clip;
  tower.patch_bias = !clip;
  count_tokens(tower);
  tower.name = fmt::format("{}-{}x{}", clip ? "clip" : "siglip", tower.num_layers, tower.width);
  return tower;
}

/// LLaVA concatenates the features of several layers if it is given a list.
Result<std::vector<std::int64_t>> feature_layers(const ConfigPart& root) {
  if (!root.is_list("vision_feature_layer")) {
    OMNIBAL_ASSIGN(const std::int64_t layer, root.integer_or("vision_feature_layer", -2));
    return std::vector<std::int64_t>{layer};
  }
  OMNIBAL_ASSIGN(std::vector<std::int64_t> layers,
                 root.integers("vision_feature_layer", -10000, 10000));
  if (!layers.empty()) return layers;
  return root.problem(ErrorCode::kOutOfRange, "vision_feature_layer", "no layer is named");
}

/// "default" drops the first token (CLIP's class token), "full" keeps all.
Result<std::int64_t> selected_tokens(const ConfigPart& root, const VisionTower& tower) {
  constexpr const char* kKey = "vision_feature_select_strategy";
  OMNIBAL_ASSIGN(const std::string strategy, root.text_or(kKey, "default"));
  if (strategy == "default") return tower.tokens_per_unit - 1;
  if (strategy == "full") return tower.tokens_per_unit;
  return root
      .problem(ErrorCode::kOutOfRange, kKey,
               fmt::format("\"{}\" is no way to select vision features", strategy))
      .with_value(strategy)
      .with_limit(std::string("default, full"));
}

}  // namespace

Result<ModelSpec> read_llava(const ConfigPart& root, const std::string& name) {
  OMNIBAL_ASSIGN(const ConfigPart vision, root.part("vision_config"));
  OMNIBAL_ASSIGN(const ConfigPart text, root.part("text_config"));
  OMNIBAL_ASSIGN(VisionTower tower, read_clip_tower(vision));
  constexpr TextDefaults kText{.model_type = "llama", .shape_of_the_class = true};
  OMNIBAL_ASSIGN(LanguageModel llm, read_language_model(text, kText));
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers, feature_layers(root));
  std::int64_t used = 0;
  for (const std::int64_t layer : layers) {
    OMNIBAL_ASSIGN(const std::int64_t blocks,
                   blocks_used(root, "vision_feature_layer", layer, tower.num_layers));
    used = std::max(used, blocks);
  }
  tower.num_layers = used;
  OMNIBAL_ASSIGN(const bool tied, root.flag_or("tie_word_embeddings", false));
  llm.tied_embedding = llm.tied_embedding || tied;
  Projector projector;
  projector.input_width = tower.width * static_cast<std::int64_t>(layers.size());
  projector.hidden_width = llm.width;
  projector.output_width = llm.width;
  projector.input_norm = false;
  OMNIBAL_ASSIGN(const std::int64_t tokens, selected_tokens(root, tower));
  projector.tokens_per_unit = static_cast<double>(tokens);
  OMNIBAL_ASSIGN(projector.bias, root.flag_or("multimodal_projector_bias", true));
  return assemble(name, std::move(tower), projector, std::move(llm));
}

}  // namespace omnibal::model
