// SPDX-License-Identifier: Apache-2.0
//
// Makes layers from a configuration: which parameters each has, of which shape, divided how.
//
//   LayerBuilder builder(options, 0, stage.parameters);
//   stage.layers.push_back(make_vision_block(config, 0, builder));
//
// Not what layers compute: vision_layers.cpp, text_layers.cpp.
#pragma once

#include "model/builder.h"
#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {

VisionBlock make_vision_block(const ModelConfig& config, std::int64_t index, LayerBuilder& builder);
/// With what of the tower lies behind the features: it is kept in files.
Projector make_projector(const ModelConfig& config, LayerBuilder& builder);
TokenEmbedding make_token_embedding(const ModelConfig& config, LayerBuilder& builder);
TextBlock make_text_block(const ModelConfig& config, std::int64_t index, LayerBuilder& builder);
/// `embedding`: the stage's, if it has it; a tied head then uses its table.
Head make_head(const ModelConfig& config, const TokenEmbedding* embedding, LayerBuilder& builder);

}  // namespace omnibal::runtime
