// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "model/hugging_face.h"
#include "model/hugging_face_parts.h"
#include "model/layer_list.h"

namespace omnibal::model {
namespace {

/// Attention at native resolution is quadratic in an image's patches, which a cost linear in
/// patches can hold for one image size only: that of a 448-pixel square, as of a tile.
constexpr std::int64_t kReferencePatches = 1024;

/// Qwen2-VL's tower cuts two frames of a video, or an image twice, into patches.
Result<VisionTower> read_native_tower(const ConfigPart& vision, std::string_view width_key) {
  VisionTower tower;
  OMNIBAL_ASSIGN(tower.width, vision.size(width_key));
  OMNIBAL_ASSIGN(tower.num_layers, vision.layer_count("depth"));
  OMNIBAL_ASSIGN(tower.num_heads, vision.size("num_heads"));
  OMNIBAL_ASSIGN(tower.patch_size, vision.square_side("patch_size"));
  OMNIBAL_ASSIGN(const std::int64_t frames, vision.size_or("temporal_patch_size", 2));
  OMNIBAL_ASSIGN(const std::int64_t old_channels, vision.size_or("in_chans", kDefaultChannels));
  OMNIBAL_ASSIGN(const std::int64_t channels, vision.size_or("in_channels", old_channels));
  OMNIBAL_RETURN_IF_ERROR(check_heads(vision, "num_heads", tower));
  tower.patch_inputs = channels * frames * tower.patch_size * tower.patch_size;
  tower.image_size = 0;
  tower.patches_per_unit = 1;
  tower.tokens_per_unit = 1;
  tower.attended_tokens = kReferencePatches;
  tower.class_token = false;
  tower.position_embedding = false;
  tower.patch_bias = false;
  return tower;
}

Result<VisionTower> read_qwen2_tower(const ConfigPart& vision) {
  OMNIBAL_ASSIGN(VisionTower tower, read_native_tower(vision, "embed_dim"));
  OMNIBAL_ASSIGN(const double ratio, vision.number_or("mlp_ratio", 4, 1.0 / 64, 1024));
  tower.mlp_width = static_cast<std::int64_t>(static_cast<double>(tower.width) * ratio);
  tower.name = fmt::format("qwen2_vl_vision-{}x{}", tower.num_layers, tower.width);
  return tower;
}

Result<VisionTower> read_qwen2_5_tower(const ConfigPart& vision) {
  OMNIBAL_ASSIGN(VisionTower tower, read_native_tower(vision, "hidden_size"));
  OMNIBAL_ASSIGN(tower.mlp_width, vision.size("intermediate_size"));
  OMNIBAL_ASSIGN(const std::int64_t window, vision.size_or("window_size", 112));
  const std::int64_t window_side = window / tower.patch_size;
  if (window_side < 1) {
    return vision.problem(ErrorCode::kOutOfRange, "window_size", "a window is less than a patch")
        .with_value(window)
        .with_limit(tower.patch_size);
  }
  tower.window_tokens = window_side * window_side;
  tower.full_blocks = {7, 15, 23, 31};
  if (vision.given("fullatt_block_indexes")) {
    OMNIBAL_ASSIGN(tower.full_blocks,
                   vision.integers("fullatt_block_indexes", 0, tower.num_layers - 1));
  }
  tower.gated_mlp = true;
  tower.norm_bias = false;
  tower.name = fmt::format("qwen2_5_vl_vision-{}x{}", tower.num_layers, tower.width);
  return tower;
}

/// The merger: norm, then a 2-layer MLP on spatial_merge_size^2 patches side by side.
Result<Projector> read_merger(const ConfigPart& vision, std::string_view output_key,
                              const VisionTower& tower, std::int64_t llm_width) {
  OMNIBAL_ASSIGN(const std::int64_t merge, vision.size_or("spatial_merge_size", 2));
  OMNIBAL_ASSIGN(const std::int64_t output, vision.size_or(output_key, llm_width));
  if (output != llm_width) {
    return vision
        .problem(ErrorCode::kConflictingKeys, output_key,
                 "the vision tower's output is not as wide as the language model")
        .with_value(output)
        .with_limit(llm_width);
  }
  Projector projector;
  projector.input_width = merge * merge * tower.width;
  projector.hidden_width = projector.input_width;
  projector.output_width = output;
  projector.tokens_per_unit = 1.0 / static_cast<double>(merge * merge);
  projector.norm_parameters = tower.norm_bias ? 2 * tower.width : tower.width;
  return projector;
}

Result<ModelSpec> read_qwen_vl(const ConfigPart& root, const std::string& name, bool version_2_5) {
  OMNIBAL_ASSIGN(const ConfigPart vision, root.part("vision_config"));
  OMNIBAL_ASSIGN(VisionTower tower,
                 version_2_5 ? read_qwen2_5_tower(vision) : read_qwen2_tower(vision));
  constexpr TextDefaults kText{.model_type = "qwen2", .type_is_fixed = true};
  LanguageModel llm;
  if (root.given("text_config")) {
    OMNIBAL_ASSIGN(const ConfigPart text, root.part("text_config"));
    OMNIBAL_ASSIGN(llm, read_language_model(text, kText));
  } else {  // before transformers 5 the text model's fields stood at the top level
    OMNIBAL_ASSIGN(llm, read_language_model(root, kText));
  }
  OMNIBAL_ASSIGN(const bool tied, root.flag_or("tie_word_embeddings", false));
  llm.tied_embedding = llm.tied_embedding || tied;
  const std::string_view output_key = version_2_5 ? "out_hidden_size" : "hidden_size";
  OMNIBAL_ASSIGN(const Projector projector, read_merger(vision, output_key, tower, llm.width));
  return assemble(name, std::move(tower), projector, std::move(llm));
}

}  // namespace

Result<ModelSpec> read_qwen2_vl(const ConfigPart& root, const std::string& name) {
  return read_qwen_vl(root, name, false);
}

Result<ModelSpec> read_qwen2_5_vl(const ConfigPart& root, const std::string& name) {
  return read_qwen_vl(root, name, true);
}

}  // namespace omnibal::model
