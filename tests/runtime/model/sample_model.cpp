// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/sample_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "omnibal/runtime/model/weights.h"

namespace omnibal::runtime {
namespace {

constexpr std::int64_t kImageToken = 50;
constexpr std::int64_t kVocabulary = 53;

/// Values in [-1, 1) that look random: the fraction of a multiple of the golden ratio, by index.
at::Tensor scrambled(std::int64_t count, double offset) {
  const at::Tensor steps =
      (at::arange(count, at::TensorOptions().dtype(at::kDouble)) + 1) * 0.6180339887498949;
  const at::Tensor shifted = steps * steps + offset * 0.7548776662466927;
  return (shifted - shifted.floor()) * 2 - 1;
}

}  // namespace

std::string internvl_json(int vision_heads, int heads, int kv_heads, bool tied) {
  return fmt::format(
      R"({{"model_type":"internvl","image_token_id":50,"tie_word_embeddings":{},
"vision_config":{{"hidden_size":{},"num_hidden_layers":2,"num_attention_heads":{},
"intermediate_size":10,"image_size":28,"patch_size":7,"norm_type":"rms_norm","use_qk_norm":true,
"attention_bias":true,"use_mean_pooling":false}},
"text_config":{{"model_type":"qwen3","hidden_size":12,"num_hidden_layers":2,
"num_attention_heads":{},"num_key_value_heads":{},"head_dim":4,"intermediate_size":14,
"attention_bias":true,"vocab_size":53}}}})",
      tied, vision_heads * 4, vision_heads, heads, kv_heads);
}

std::string llava_json(int vision_heads, int heads, int kv_heads, bool tied) {
  return fmt::format(
      R"({{"model_type":"llava","image_token_index":50,"tie_word_embeddings":{},
"vision_config":{{"model_type":"clip_vision_model","hidden_size":{},"num_hidden_layers":3,
"num_attention_heads":{},"intermediate_size":10,"image_size":28,"patch_size":7}},
"text_config":{{"model_type":"llama","hidden_size":12,"num_hidden_layers":2,
"num_attention_heads":{},"num_key_value_heads":{},"head_dim":4,"intermediate_size":14,
"mlp_bias":true,"vocab_size":53}}}})",
      tied, vision_heads * 4, vision_heads, heads, kv_heads);
}

ModelConfig sample_config(const ScratchDirectory& scratch, const std::string& json) {
  Result<ModelConfig> config = read_model_config(scratch.write("config.json", json));
  EXPECT_TRUE(config.ok()) << to_text(config.error());
  return *std::move(config);
}

void write_sample_weights(const ScratchDirectory& scratch, const ModelConfig& config) {
  const auto end = static_cast<std::int64_t>(config.spec.layers.size());
  Stage stage = make_stage(config, {.end = end, .type = at::kDouble});
  const c10::NoGradGuard no_graph;
  double offset = 0;
  for (Parameter& parameter : stage.parameters) {
    const at::Tensor values = scrambled(parameter.tensor.numel(), ++offset);
    parameter.tensor.copy_((values * 0.4).view(parameter.shape));
  }
  const Status saved = save_parameters(scratch.path(), stage.parameters, at::kDouble);
  EXPECT_TRUE(saved.ok()) << to_text(saved.error());
}

PreparedBatch sample_batch(const ModelConfig& config, std::int64_t units, std::int64_t words,
                           at::ScalarType type) {
  const std::int64_t features = units * config.unit_tokens();
  const std::int64_t first = features + words;
  const std::int64_t tokens = first + 5;
  MicroBatch batch;
  const at::Tensor counted = at::arange(tokens, at::TensorOptions().dtype(at::kLong));
  batch.ids = (counted * counted * 7 + 3).remainder(kImageToken);
  batch.ids.narrow(0, 1, features).fill_(kImageToken);
  batch.labels = (counted * 11 + 5).remainder(kVocabulary);
  batch.labels.narrow(0, 0, features + 1).fill_(kNoLabel);
  batch.labels.narrow(0, first - 1, 1).fill_(kNoLabel);
  batch.positions = counted.clone();
  batch.positions.narrow(0, first, 5).sub_(first);
  batch.segment_offsets = {0, first, tokens};
  batch.weights = at::full({tokens}, 0.25, at::TensorOptions().dtype(at::kDouble));
  const std::int64_t side = config.spec.vision.image_size;
  batch.pixels = scrambled(units * 3 * side * side, 0.5).view({units, 3, side, side});
  Result<PreparedBatch> prepared = prepare(std::move(batch), config, type);
  EXPECT_TRUE(prepared.ok()) << to_text(prepared.error());
  return *std::move(prepared);
}

Stage sample_stage(const ScratchDirectory& scratch, const ModelConfig& config,
                   const TensorGroup* group) {
  const auto end = static_cast<std::int64_t>(config.spec.layers.size());
  Stage stage = make_stage(config, {.end = end, .type = at::kDouble, .group = group});
  const Result<Weights> weights = Weights::open(scratch.path());
  EXPECT_TRUE(weights.ok());
  const Status loaded = load_parameters(*weights, stage);
  EXPECT_TRUE(loaded.ok()) << to_text(loaded.error());
  return stage;
}

}  // namespace omnibal::runtime
