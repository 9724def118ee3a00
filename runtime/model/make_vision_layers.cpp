// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "model/make_layers.h"
#include "model/names.h"

namespace omnibal::runtime {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr double kQueryNormEps = 1e-6;      // the class default of InternVLVisionRMSNorm
constexpr double kProjectorNormEps = 1e-5;  // of nn.LayerNorm

std::string tower_name(std::string_view name) { return fmt::format("{}{}", kTower, name); }

PatchEmbedding make_patch_embedding(const ModelConfig& config, LayerBuilder& builder) {
  const VisionNames& names = vision_names(config.family);
  const model::VisionTower& tower = config.spec.vision;
  const std::int64_t width = tower.width;
  const bool clip = config.family == Family::kLlava;
  PatchEmbedding embedding;
  const std::string patches = tower_name(names.patches);
  embedding.patches.weight =
      builder.whole(patches + ".weight", {width, 3, tower.patch_size, tower.patch_size});
  if (tower.patch_bias) embedding.patches.bias = builder.whole(patches + ".bias", {width});
  const Shape token = clip ? Shape{width} : Shape{1, 1, width};
  embedding.class_token = builder.whole(tower_name(names.class_token), token);
  if (tower.position_embedding) {
    const std::int64_t tokens = tower.tokens_per_unit;
    const Shape table = clip ? Shape{tokens, width} : Shape{1, tokens, width};
    embedding.positions = builder.whole(tower_name(names.positions), table);
  }
  if (clip) {
    embedding.pre_norm =
        builder.norm(tower_name(names.pre_norm), width, true, config.vision.norm_eps);
  }
  return embedding;
}

std::string block_prefix(const ModelConfig& config, std::int64_t index) {
  return fmt::format("{}{}{}.", kTower, vision_names(config.family).blocks, index);
}

VisionBlock make_block(const ModelConfig& config, std::int64_t index, LayerBuilder& builder) {
  const VisionNames& names = vision_names(config.family);
  const model::VisionTower& tower = config.spec.vision;
  const std::string prefix = block_prefix(config, index);
  const auto name = [&](std::string_view part) { return fmt::format("{}{}", prefix, part); };
  const std::int64_t width = tower.width;
  const bool norm_bias = config.vision.norm == NormKind::kLayerNorm;
  VisionBlock block{.activation = config.vision.activation,
                    .width = width,
                    .head_width = width / tower.num_heads};
  const Division heads = builder.divide(tower.num_heads, block.head_width);
  block.norm1 = builder.norm(name(names.norm1), width, norm_bias, config.vision.norm_eps);
  const auto projection = [&](std::string_view part) {
    return builder.linear_by_output(name(part), width, width, tower.qkv_bias, heads);
  };
  block.query = projection(names.query);
  block.key = projection(names.key);
  block.value = projection(names.value);
  if (tower.qk_norm) {
    const auto norm = [&](std::string_view part) {
      return Norm{builder.divided(name(part), {width}, 0, heads), {}, kQueryNormEps};
    };
    block.query_norm = norm(names.query_norm);
    block.key_norm = norm(names.key_norm);
  }
  block.output = builder.linear_by_input(name(names.output), width, width, true, heads);
  if (tower.layer_scale) {
    block.scale1 = builder.whole(name(names.scale1), {width});
    block.scale2 = builder.whole(name(names.scale2), {width});
  }
  block.norm2 = builder.norm(name(names.norm2), width, norm_bias, config.vision.norm_eps);
  const Division mlp = builder.divide(tower.mlp_width);
  block.up = builder.linear_by_output(name("mlp.fc1"), width, tower.mlp_width, true, mlp);
  block.down = builder.linear_by_input(name("mlp.fc2"), tower.mlp_width, width, true, mlp);
  return block;
}

/// Names and shapes of a block that no one reads.
void keep_block(const ModelConfig& config, std::int64_t index, LayerBuilder& builder) {
  StageOptions alone;
  alone.describe_only = true;
  std::vector<Parameter> described;
  LayerBuilder describer(alone, 0, described);
  make_block(config, index, describer);
  for (const Parameter& parameter : described) builder.kept(parameter.name, parameter.shape);
}

}  // namespace

VisionBlock make_vision_block(const ModelConfig& config, std::int64_t index,
                              LayerBuilder& builder) {
  std::optional<PatchEmbedding> embedding;
  if (index == 0) embedding = make_patch_embedding(config, builder);
  VisionBlock block = make_block(config, index, builder);
  block.embedding = std::move(embedding);
  return block;
}

Projector make_projector(const ModelConfig& config, LayerBuilder& builder) {
  const VisionNames& names = vision_names(config.family);
  const model::Projector& shape = config.spec.projector;
  const std::int64_t tower_width = config.spec.vision.width;
  Projector projector{.activation = config.projector.activation,
                      .shuffle = config.projector.shuffle,
                      .drops_class_token = config.vision.drops_class_token};
  for (std::int64_t i = config.spec.vision.num_layers; i < config.vision.stored_blocks; ++i) {
    keep_block(config, i, builder);
  }
  const std::string final_norm = tower_name(names.final_norm);
  if (config.vision.applies_final_norm) {
    projector.tower_norm = builder.norm(final_norm, tower_width, true, config.vision.norm_eps);
  } else if (config.vision.stores_final_norm) {
    builder.kept(final_norm + ".weight", {tower_width});
    builder.kept(final_norm + ".bias", {tower_width});
  }
  if (config.vision.stores_mask_token) {
    builder.kept(tower_name(names.mask_token), {1, 1, tower_width});
  }
  const std::string prefix = "multi_modal_projector.";
  if (shape.input_norm) {
    projector.norm =
        builder.norm(prefix + "layer_norm", shape.input_width, true, kProjectorNormEps);
  }
  const Division hidden = builder.divide(shape.hidden_width);
  projector.first = builder.linear_by_output(prefix + "linear_1", shape.input_width,
                                             shape.hidden_width, shape.bias, hidden);
  projector.second = builder.linear_by_input(prefix + "linear_2", shape.hidden_width,
                                             shape.output_width, shape.bias, hidden);
  return projector;
}

}  // namespace omnibal::runtime
