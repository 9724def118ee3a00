// SPDX-License-Identifier: Apache-2.0
#include "omnibal/model/parameters.h"

namespace omnibal::model {
namespace {

std::int64_t norm_parameters(std::int64_t width, bool bias) { return bias ? 2 * width : width; }

}  // namespace

BlockParameters vision_block_parameters(const VisionTower& tower) {
  const std::int64_t h = tower.width;
  const std::int64_t f = tower.mlp_width;
  BlockParameters block;
  block.attention_query = 2 * h * h + (tower.qkv_bias ? h : 0) + (tower.qk_norm ? h : 0);
  block.attention_kv = 2 * h * h + (tower.qkv_bias ? 2 * h : 0) + (tower.qk_norm ? h : 0);
  block.mlp = tower.gated_mlp ? 3 * h * f + 2 * f : 2 * h * f + f;
  block.whole = 2 * h + 2 * norm_parameters(h, tower.norm_bias) + (tower.layer_scale ? 2 * h : 0);
  return block;
}

BlockParameters llm_block_parameters(const LanguageModel& model) {
  const std::int64_t d = model.width;
  const std::int64_t f = model.mlp_width;
  const std::int64_t query = model.num_heads * model.head_width;
  const std::int64_t kv = model.num_kv_heads * model.head_width;
  BlockParameters block;
  block.attention_query = 2 * d * query + (model.qkv_bias ? query : 0);
  block.attention_kv = 2 * d * kv + (model.qkv_bias ? 2 * kv : 0);
  block.mlp = 3 * d * f + (model.mlp_bias ? 2 * f : 0);
  block.whole = 2 * d + (model.out_bias ? d : 0) + (model.mlp_bias ? d : 0) +
                (model.qk_norm ? 2 * model.head_width : 0);
  return block;
}

BlockWidths block_widths(const VisionTower& tower) {
  return {tower.width, tower.width, tower.width, tower.mlp_width};
}

BlockWidths block_widths(const LanguageModel& model) {
  return {model.width, model.num_heads * model.head_width, model.num_kv_heads * model.head_width,
          model.mlp_width};
}

LinearWidths linear_widths(const BlockWidths& block, AdapterTarget target) {
  switch (target) {
    case AdapterTarget::kQuery:
      return {block.width, block.query};
    case AdapterTarget::kKey:
    case AdapterTarget::kValue:
      return {block.width, block.kv};
    case AdapterTarget::kQueryKeyValue:
      return {block.width, block.query + 2 * block.kv};
    case AdapterTarget::kOutput:
      return {block.query, block.width};
    case AdapterTarget::kGate:
    case AdapterTarget::kUp:
      return {block.width, block.mlp};
    case AdapterTarget::kDown:
      return {block.mlp, block.width};
  }
  return {};
}

std::int64_t adapter_parameters(const BlockWidths& block, const Adapters& adapters) {
  std::int64_t sum = 0;
  for (const AdapterTarget target : adapters.targets) {
    const LinearWidths widths = linear_widths(block, target);
    sum += adapters.rank * (widths.in + widths.out);
  }
  return sum;
}

std::int64_t patch_embedding_parameters(const VisionTower& tower) {
  const std::int64_t h = tower.width;
  return tower.patch_inputs * h + (tower.patch_bias ? h : 0) + (tower.class_token ? h : 0) +
         (tower.position_embedding ? tower.tokens_per_unit * h : 0) +
         (tower.pre_norm ? norm_parameters(h, tower.norm_bias) : 0);
}

std::int64_t projector_parameters(const Projector& projector) {
  const std::int64_t biases = projector.bias ? projector.hidden_width + projector.output_width : 0;
  return projector.norm_parameters + projector.input_width * projector.hidden_width +
         projector.hidden_width * projector.output_width + biases;
}

std::int64_t vocabulary_parameters(const LanguageModel& model) {
  return model.vocabulary * model.width;
}

}  // namespace omnibal::model
