// SPDX-License-Identifier: Apache-2.0
#include "model/hugging_face_parts.h"

#include <fmt/format.h>

namespace omnibal::model {
namespace {}  // namespace

Status check_heads(const ConfigPart& vision, std::string_view key, const VisionTower& tower) {
  if (tower.width % tower.num_heads == 0) return {};
  return vision
      .problem(ErrorCode::kOutOfRange, key, fmt::format("the width is no multiple of {}", key))
      .with_value(tower.num_heads)
      .with_limit(tower.width);
}

Result<VisionTower> read_tile_tower(const ConfigPart& vision, std::int64_t image_size) {
  VisionTower tower;
  tower.image_size = image_size;
  OMNIBAL_ASSIGN(tower.width, vision.size("hidden_size"));
  OMNIBAL_ASSIGN(tower.num_layers, vision.layer_count("num_hidden_layers"));
  OMNIBAL_ASSIGN(tower.num_heads, vision.size("num_attention_heads"));
  OMNIBAL_ASSIGN(tower.mlp_width, vision.size("intermediate_size"));
  OMNIBAL_ASSIGN(tower.patch_size, vision.square_side("patch_size"));
  OMNIBAL_ASSIGN(const std::int64_t channels, vision.size_or("num_channels", kDefaultChannels));
  OMNIBAL_RETURN_IF_ERROR(check_heads(vision, "num_attention_heads", tower));
  const std::int64_t side = image_size / tower.patch_size;
  if (side < 1) {
    return vision.problem(ErrorCode::kOutOfRange, "patch_size", "a patch is larger than the image")
        .with_value(tower.patch_size)
        .with_limit(image_size);
  }
  tower.patch_inputs = channels * tower.patch_size * tower.patch_size;
  tower.patches_per_unit = side * side;
  return tower;
}

void count_tokens(VisionTower& tower) {
  tower.tokens_per_unit = tower.patches_per_unit + (tower.class_token ? 1 : 0);
  tower.attended_tokens = tower.tokens_per_unit;
}

Status check_tower_type(const ConfigPart& vision, std::string_view type, bool accepted,
                        std::string_view names) {
  if (accepted) return {};
  return vision
      .problem(ErrorCode::kUnsupportedModel, "model_type",
               fmt::format("vision towers of type \"{}\" are not supported here", type))
      .with_value(std::string(type))
      .with_limit(std::string(names));
}

Result<std::int64_t> blocks_used(const ConfigPart& root, std::string_view key, std::int64_t layer,
                                 std::int64_t num_layers) {
  const std::int64_t used = layer >= 0 ? layer : num_layers + 1 + layer;
  if (used >= 1 && used <= num_layers) return used;
  return root
      .problem(ErrorCode::kOutOfRange, key,
               fmt::format("{} {} names no output of a vision tower of {} layers", key, layer,
                           num_layers))
      .with_value(layer)
      .with_limit(num_layers);
}

}  // namespace omnibal::model
