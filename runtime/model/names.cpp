// SPDX-License-Identifier: Apache-2.0
#include "model/names.h"

#include <fmt/format.h>

namespace omnibal::runtime {
namespace {

constexpr VisionNames kInternVl{
    .class_token = "embeddings.cls_token",
    .patches = "embeddings.patch_embeddings.projection",
    .positions = "embeddings.position_embeddings",
    .pre_norm = "",
    .mask_token = "embeddings.mask_token",
    .final_norm = "layernorm",
    .blocks = "encoder.layer.",
    .norm1 = "layernorm_before",
    .norm2 = "layernorm_after",
    .query = "attention.q_proj",
    .key = "attention.k_proj",
    .value = "attention.v_proj",
    .output = "attention.projection_layer",
    .query_norm = "attention.q_norm.weight",
    .key_norm = "attention.k_norm.weight",
    .scale1 = "lambda_1",
    .scale2 = "lambda_2",
};

constexpr VisionNames kClip{
    .class_token = "embeddings.class_embedding",
    .patches = "embeddings.patch_embedding",
    .positions = "embeddings.position_embedding.weight",
    .pre_norm = "pre_layrnorm",  // spelt so
    .mask_token = "",
    .final_norm = "post_layernorm",
    .blocks = "encoder.layers.",
    .norm1 = "layer_norm1",
    .norm2 = "layer_norm2",
    .query = "self_attn.q_proj",
    .key = "self_attn.k_proj",
    .value = "self_attn.v_proj",
    .output = "self_attn.out_proj",
    .query_norm = "",
    .key_norm = "",
    .scale1 = "",
    .scale2 = "",
};

}  // namespace

const VisionNames& vision_names(Family family) {
  return family == Family::kLlava ? kClip : kInternVl;
}

std::vector<std::string> accepted_names(const std::string& name) {
  constexpr std::string_view kText = "language_model.model.";
  if (name == kHeadTable) return {name, "lm_head.weight"};
  if (name.starts_with(kText)) {
    return {name, fmt::format("model.language_model.{}", name.substr(kText.size()))};
  }
  std::vector<std::string> names{name, "model." + name};
  if (name.starts_with(kTower)) {
    names.push_back(fmt::format("{}vision_model.{}", kTower, name.substr(kTower.size())));
  }
  return names;
}

}  // namespace omnibal::runtime
