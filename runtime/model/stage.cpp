// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/stage.h"

#include "model/make_layers.h"

namespace omnibal::runtime {
namespace {

/// The stage's token embedding, if it has one.
const TokenEmbedding* embedding_of(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) {
    if (const auto* embedding = std::get_if<TokenEmbedding>(&layer)) return embedding;
  }
  return nullptr;
}

Layer make_layer(const Stage& stage, std::int64_t index, LayerBuilder& builder) {
  const ModelConfig& config = stage.config;
  const std::int64_t vision_blocks = config.spec.vision.num_layers;
  switch (config.spec.layers[static_cast<std::size_t>(index)].kind) {
    case model::LayerKind::kPatchEmbedding:  // folded into the first block by the planner
    case model::LayerKind::kVisionBlock:
      return make_vision_block(config, index, builder);
    case model::LayerKind::kProjector:
      return make_projector(config, builder);
    case model::LayerKind::kTokenEmbedding:
      return make_token_embedding(config, builder);
    case model::LayerKind::kLlmBlock:
      return make_text_block(config, index - vision_blocks - 2, builder);
    case model::LayerKind::kHead:
      break;
  }
  return make_head(config, embedding_of(stage.layers), builder);
}

}  // namespace

Stage make_stage(const ModelConfig& config, const StageOptions& options) {
  Stage stage{config, options, {}, {}};
  for (std::int64_t index = options.first; index < options.end; ++index) {
    LayerBuilder builder(stage.options, index, stage.parameters);
    stage.layers.push_back(make_layer(stage, index, builder));
  }
  return stage;
}

std::vector<Parameter> describe_parameters(const ModelConfig& config) {
  const StageOptions all{.first = 0,
                         .end = static_cast<std::int64_t>(config.spec.layers.size()),
                         .describe_only = true};
  return make_stage(config, all).parameters;
}

at::Tensor forward(const Layer& layer, const at::Tensor& input, const Pass& pass) {
  return std::visit([&](const auto& kind) { return forward(kind, input, pass); }, layer);
}

std::vector<std::int64_t> output_shape(const ModelConfig& config, std::int64_t index,
                                       const PreparedBatch& batch, const TensorGroup* group) {
  switch (config.spec.layers[static_cast<std::size_t>(index)].kind) {
    case model::LayerKind::kPatchEmbedding:
    case model::LayerKind::kVisionBlock:
      return {rows_per_rank(batch.vision_rows(), group), config.spec.vision.width};
    case model::LayerKind::kProjector:
      return {rows_per_rank(batch.feature_rows(), group), config.spec.projector.output_width};
    case model::LayerKind::kTokenEmbedding:
    case model::LayerKind::kLlmBlock:
      return {rows_per_rank(batch.tokens(), group), config.spec.language.width};
    case model::LayerKind::kHead:
      break;
  }
  return {};
}

}  // namespace omnibal::runtime
