// SPDX-License-Identifier: Apache-2.0
//
// Stage: a contiguous range of the planner's layers, executable. Between any two layers goes one
// tensor [rows, width]: hidden states of the vision tower (all units' tokens), behind the projector
// LLM tokens of all units, behind the token embedding all tokens. The head gives the weighted sum
// of token losses.
//
//   Stage stage = make_stage(config, {.first = 0, .end = 12, .type = at::kFloat});
//   OMNIBAL_RETURN_IF_ERROR(load_weights(weights, stage));
//   const at::Tensor y = forward(stage.layers[0], at::Tensor(), {prepared});
//
// Not the pipeline: who calls which stage when is the schedule's (tape.h runs one stage).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "omnibal/runtime/config/model_config.h"
#include "omnibal/runtime/layers/tensor_group.h"
#include "omnibal/runtime/layers/weight_gradients.h"
#include "omnibal/runtime/model/micro_batch.h"
#include "omnibal/runtime/model/parameter.h"
#include "omnibal/runtime/model/text_layers.h"
#include "omnibal/runtime/model/vision_layers.h"

namespace omnibal::runtime {

using Layer = std::variant<VisionBlock, Projector, TokenEmbedding, TextBlock, Head>;

struct StageOptions {
  std::int64_t first = 0;  // layers [first, end) of ModelConfig::spec.layers
  std::int64_t end = 0;
  at::ScalarType type = at::kFloat;
  const TensorGroup* group = nullptr;  // outlives the stage
  bool describe_only = false;          // parameters without memory: names, shapes, shards
};

struct Stage {
  ModelConfig config;
  StageOptions options;
  std::vector<Layer> layers;
  std::vector<Parameter> parameters;  // in the order of layers
};

/// Parameters are not initialised: load_weights does that.
Stage make_stage(const ModelConfig& config, const StageOptions& options);

/// All parameters of the model, without memory.
std::vector<Parameter> describe_parameters(const ModelConfig& config);

/// The first block of the tower reads the pixels and no input.
at::Tensor forward(const Layer& layer, const at::Tensor& input, const Pass& pass);

/// [rows, width] of what layer `index` of the model gives for a micro-batch, on each rank of
/// `group`. Of the head: a scalar.
std::vector<std::int64_t> output_shape(const ModelConfig& config, std::int64_t index,
                                       const PreparedBatch& batch, const TensorGroup* group);

}  // namespace omnibal::runtime
