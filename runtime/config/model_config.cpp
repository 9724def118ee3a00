// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/config/model_config.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "config/supported.h"

namespace omnibal::runtime {
namespace {

using model::ConfigPart;

constexpr double kLargestEps = 0.1;

Result<Activation> read_activation(const ConfigPart& part, std::string_view key,
                                   std::string_view fallback) {
  OMNIBAL_ASSIGN(const std::string word, one_of(part, key, fallback, {"gelu", "quick_gelu"}));
  return word == "gelu" ? Activation::kGelu : Activation::kQuickGelu;
}

/// What both families say about their tower. The trainer feeds pictures of three colours.
Status read_shared(const ConfigPart& vision, std::string_view activation, VisionConfig& config) {
  OMNIBAL_ASSIGN(config.activation, read_activation(vision, "hidden_act", activation));
  OMNIBAL_ASSIGN(config.stored_blocks, vision.layer_count("num_hidden_layers"));
  OMNIBAL_ASSIGN(const std::int64_t channels, vision.integer_or("num_channels", 3));
  if (channels == 3) return {};
  return vision
      .problem(ErrorCode::kUnsupportedModel, "num_channels",
               fmt::format("num_channels {} is not supported by the trainer", channels))
      .with_value(channels)
      .with_limit(std::int64_t{3});
}

Status read_internvl(const ConfigPart& root, const ConfigPart& vision, ModelConfig& config) {
  config.family = Family::kInternVl;
  VisionConfig& tower = config.vision;
  OMNIBAL_RETURN_IF_ERROR(read_shared(vision, "gelu", tower));
  OMNIBAL_RETURN_IF_ERROR(
      no_dropout(vision, {"hidden_dropout_prob", "attention_dropout", "projection_dropout"}));
  OMNIBAL_ASSIGN(const std::string norm,
                 one_of(vision, "norm_type", "layer_norm", {"layer_norm", "rms_norm"}));
  tower.norm = norm == "rms_norm" ? NormKind::kRmsNorm : NormKind::kLayerNorm;
  OMNIBAL_ASSIGN(tower.norm_eps, vision.number_or("layer_norm_eps", 1e-6, 0, kLargestEps));
  OMNIBAL_ASSIGN(const bool mean_pooling, vision.flag_or("use_mean_pooling", true));
  OMNIBAL_ASSIGN(const std::int64_t feature_layer, root.integer_or("vision_feature_layer", -1));
  tower.stores_final_norm = !mean_pooling;
  // transformers takes the tower's result for -1 alone, hidden states before the norm otherwise.
  tower.applies_final_norm = tower.stores_final_norm && feature_layer == -1;
  OMNIBAL_ASSIGN(tower.stores_mask_token, vision.flag_or("use_mask_token", false));
  // With the class token the features would be no square of patches.
  OMNIBAL_RETURN_IF_ERROR(one_of(root, "vision_feature_select_strategy", "default", {"default"}));
  const double side = static_cast<double>(config.spec.vision.patches_per_unit) /
                      config.spec.projector.tokens_per_unit;
  config.projector.shuffle = static_cast<std::int64_t>(std::sqrt(side) + 0.5);
  OMNIBAL_ASSIGN(config.image_token, root.integer_or("image_token_id", 151667));
  return {};
}

Status read_llava(const ConfigPart& root, const ConfigPart& vision, ModelConfig& config) {
  config.family = Family::kLlava;
  VisionConfig& tower = config.vision;
  OMNIBAL_RETURN_IF_ERROR(one_of(vision, "model_type", "clip_vision_model", {"clip_vision_model"}));
  OMNIBAL_RETURN_IF_ERROR(read_shared(vision, "quick_gelu", tower));
  OMNIBAL_RETURN_IF_ERROR(no_dropout(vision, {"attention_dropout"}));
  OMNIBAL_ASSIGN(tower.norm_eps, vision.number_or("layer_norm_eps", 1e-5, 0, kLargestEps));
  tower.stores_final_norm = true;
  OMNIBAL_ASSIGN(const std::string strategy,
                 one_of(root, "vision_feature_select_strategy", "default", {"default", "full"}));
  tower.drops_class_token = strategy == "default";
  if (root.is_list("vision_feature_layer")) {
    return root
        .problem(ErrorCode::kUnsupportedModel, "vision_feature_layer",
                 "features of several vision layers are not supported by the trainer")
        .with_limit(std::string("one layer"));
  }
  OMNIBAL_ASSIGN(const std::int64_t image_token, root.integer_or("image_token_id", 32000));
  OMNIBAL_ASSIGN(config.image_token, root.integer_or("image_token_index", image_token));
  return {};
}

Status read_text(const ConfigPart& text, ModelConfig& config) {
  OMNIBAL_RETURN_IF_ERROR(one_of(text, "hidden_act", "silu", {"silu"}));
  OMNIBAL_RETURN_IF_ERROR(no_dropout(text, {"attention_dropout"}));
  OMNIBAL_RETURN_IF_ERROR(full_attention(text, config.spec.language.num_layers));
  OMNIBAL_ASSIGN(config.text.norm_eps, text.number_or("rms_norm_eps", 1e-6, 0, kLargestEps));
  OMNIBAL_ASSIGN(config.text.rope_theta, rotary_base(text));
  const std::int64_t width = config.spec.language.head_width;
  if (width % 2 != 0) {
    return text.problem(ErrorCode::kOutOfRange, "head_dim", "rotary positions turn pairs")
        .with_value(width);
  }
  return {};
}

/// What holds of the whole: quantised weights, and an image token that has an embedding.
Status check_whole(const ConfigPart& root, const ModelConfig& config) {
  if (root.given("quantization_config")) {
    return root.problem(ErrorCode::kUnsupportedModel, "quantization_config",
                        "quantised weights are not supported by the trainer");
  }
  const std::int64_t vocabulary = config.spec.language.vocabulary;
  if (config.image_token >= 0 && config.image_token < vocabulary) return {};
  return root
      .problem(ErrorCode::kOutOfRange,
               config.family == Family::kLlava ? "image_token_index" : "image_token_id",
               "the image token is no word of the vocabulary")
      .with_value(config.image_token)
      .with_limit(vocabulary);
}

}  // namespace

std::int64_t ModelConfig::unit_tokens() const {
  return static_cast<std::int64_t>(spec.projector.tokens_per_unit);
}

Result<ModelConfig> read_model_config(const std::string& path) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  const std::string file =
      directory ? (std::filesystem::path(path) / "config.json").string() : path;
  OMNIBAL_ASSIGN(const codec::Json document, codec::read_json(file));
  const ConfigPart root(document, file);
  OMNIBAL_ASSIGN(const std::string type, one_of(root, "model_type", "", {"internvl", "llava"}));
  OMNIBAL_ASSIGN(const ConfigPart text, root.part("text_config"));
  // Before the planner reads it, which knows more kinds.
  OMNIBAL_RETURN_IF_ERROR(
      one_of(text, "model_type", type == "llava" ? "llama" : "qwen2", {"qwen2", "qwen3", "llama"}));
  ModelConfig config;
  OMNIBAL_ASSIGN(config.spec, model::load_model(file));
  OMNIBAL_ASSIGN(const ConfigPart vision, root.part("vision_config"));
  OMNIBAL_RETURN_IF_ERROR(type == "llava" ? read_llava(root, vision, config)
                                          : read_internvl(root, vision, config));
  OMNIBAL_ASSIGN(config.projector.activation,
                 read_activation(root, "projector_hidden_act", "gelu"));
  OMNIBAL_RETURN_IF_ERROR(read_text(text, config));
  OMNIBAL_RETURN_IF_ERROR(check_whole(root, config));
  return config;
}

}  // namespace omnibal::runtime
