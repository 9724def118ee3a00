// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "model/hugging_face.h"
#include "model/hugging_face_parts.h"
#include "model/layer_list.h"

namespace omnibal::model {
namespace {

Result<VisionTower> read_internvl_tower(const ConfigPart& vision) {
  OMNIBAL_ASSIGN(const std::string type, vision.text_or("model_type", "internvl_vision"));
  OMNIBAL_RETURN_IF_ERROR(
      check_tower_type(vision, type, type == "internvl_vision", "internvl_vision"));
  OMNIBAL_ASSIGN(const std::int64_t image_size, vision.square_side("image_size"));
  OMNIBAL_ASSIGN(VisionTower tower, read_tile_tower(vision, image_size));
  OMNIBAL_ASSIGN(tower.qkv_bias, vision.flag_or("attention_bias", false));
  OMNIBAL_ASSIGN(tower.qk_norm, vision.flag_or("use_qk_norm", false));
  OMNIBAL_ASSIGN(tower.position_embedding,
                 vision.flag_or("use_absolute_position_embeddings", true));
  OMNIBAL_ASSIGN(const std::string norm, vision.text_or("norm_type", "layer_norm"));
  tower.norm_bias = norm != "rms_norm";
  tower.layer_scale = true;
  count_tokens(tower);
  tower.name = fmt::format("internvl_vision-{}x{}", tower.num_layers, tower.width);
  return tower;
}

Result<VisionTower> read_internvl_chat_tower(const ConfigPart& root, const ConfigPart& vision) {
  OMNIBAL_ASSIGN(const std::string type, vision.text_or("model_type", "intern_vit_6b"));
  OMNIBAL_RETURN_IF_ERROR(
      check_tower_type(vision, type, type.starts_with("intern_vit"), "intern_vit_6b"));
  const bool forced = root.given("force_image_size");
  OMNIBAL_ASSIGN(const std::int64_t image_size,
                 forced ? root.square_side("force_image_size") : vision.square_side("image_size"));
  OMNIBAL_ASSIGN(VisionTower tower, read_tile_tower(vision, image_size));
  OMNIBAL_ASSIGN(tower.qkv_bias, vision.flag_or("qkv_bias", false));
  OMNIBAL_ASSIGN(tower.qk_norm, vision.flag_or("qk_normalization", true));
  OMNIBAL_ASSIGN(const std::string norm, vision.text_or("norm_type", "rms_norm"));
  tower.norm_bias = norm != "rms_norm";
  tower.layer_scale = true;
  count_tokens(tower);
  tower.name = fmt::format("intern_vit-{}x{}", tower.num_layers, tower.width);
  return tower;
}

/// LayerNorm(k^2 H), Linear, GELU, Linear behind a pixel shuffle by the factor k.
Result<Projector> read_pixel_shuffle_projector(const ConfigPart& root, const VisionTower& tower,
                                               std::int64_t llm_width) {
  OMNIBAL_ASSIGN(const double ratio, root.number_or("downsample_ratio", 0.5, 1.0 / 64, 1));
  const std::int64_t side = tower.image_size / tower.patch_size;
  const auto factor = static_cast<std::int64_t>(std::floor(1 / ratio + 0.5));
  if (std::fabs(ratio * static_cast<double>(factor) - 1) > 1e-9 || side % factor != 0) {
    return root
        .problem(ErrorCode::kOutOfRange, "downsample_ratio",
                 fmt::format("a side of {} patches cannot be shuffled by {}", side, ratio))
        .with_value(ratio);
  }
  Projector projector;
  projector.input_width = factor * factor * tower.width;
  projector.hidden_width = llm_width;
  projector.output_width = llm_width;
  const std::int64_t tokens = (side / factor) * (side / factor);
  projector.tokens_per_unit = static_cast<double>(tokens);
  projector.norm_parameters = 2 * projector.input_width;
  OMNIBAL_ASSIGN(const std::int64_t stated, root.size_or("image_seq_length", tokens));
  if (stated != tokens) {
    return root
        .problem(ErrorCode::kConflictingKeys, "image_seq_length",
                 fmt::format("image_seq_length is {}, image_size, patch_size and downsample_ratio "
                             "give {}",
                             stated, tokens))
        .with_value(stated)
        .with_limit(tokens);
  }
  return projector;
}

}  // namespace

Result<ModelSpec> read_internvl(const ConfigPart& root, const std::string& name) {
  OMNIBAL_ASSIGN(const ConfigPart vision, root.part("vision_config"));
  OMNIBAL_ASSIGN(const ConfigPart text, root.part("text_config"));
  OMNIBAL_ASSIGN(VisionTower tower, read_internvl_tower(vision));
  OMNIBAL_ASSIGN(LanguageModel llm, read_language_model(text, {.model_type = "qwen2"}));
  OMNIBAL_ASSIGN(const std::int64_t layer, root.integer_or("vision_feature_layer", -1));
  OMNIBAL_ASSIGN(tower.num_layers,
                 blocks_used(root, "vision_feature_layer", layer, tower.num_layers));
  // transformers 5 reads the top level alone, and its class default is true.
  OMNIBAL_ASSIGN(llm.tied_embedding, root.flag_or("tie_word_embeddings", true));
  OMNIBAL_ASSIGN(const Projector projector, read_pixel_shuffle_projector(root, tower, llm.width));
  return assemble(name, std::move(tower), projector, std::move(llm));
}

Result<ModelSpec> read_internvl_chat(const ConfigPart& root, const std::string& name) {
  OMNIBAL_ASSIGN(const ConfigPart vision, root.part("vision_config"));
  OMNIBAL_ASSIGN(const ConfigPart text, root.part("llm_config"));
  OMNIBAL_ASSIGN(VisionTower tower, read_internvl_chat_tower(root, vision));
  OMNIBAL_ASSIGN(LanguageModel llm, read_language_model(text, {}));
  OMNIBAL_ASSIGN(const std::int64_t layer, root.integer_or("select_layer", -1));
  OMNIBAL_ASSIGN(tower.num_layers, blocks_used(root, "select_layer", layer, tower.num_layers));
  OMNIBAL_ASSIGN(llm.tied_embedding, root.flag_or("tie_word_embeddings", llm.tied_embedding));
  OMNIBAL_ASSIGN(const Projector projector, read_pixel_shuffle_projector(root, tower, llm.width));
  return assemble(name, std::move(tower), projector, std::move(llm));
}

}  // namespace omnibal::model
