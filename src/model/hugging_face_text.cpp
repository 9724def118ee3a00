// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "model/hugging_face_parts.h"

namespace omnibal::model {
namespace {

/// What a kind of language model adds to the fields that all share. Sources: the configuration and
/// modeling files of transformers 5; InternLM2's remote code.
struct TextKind {
  std::string_view model_type;
  bool always_qkv_bias = false;
  std::string_view qkv_out_bias_key = "";  // one flag for all four projections
  std::string_view mlp_bias_key = "";
  bool qk_norm = false;
  std::int64_t head_width = 0;    // where head_dim is absent; 0: width / heads
  bool kv_heads_default = false;  // absent num_key_value_heads: as many as query heads
};

constexpr std::array kTextKinds = {
    TextKind{.model_type = "llama",
             .qkv_out_bias_key = "attention_bias",
             .mlp_bias_key = "mlp_bias",
             .kv_heads_default = true},
    TextKind{.model_type = "qwen2", .always_qkv_bias = true},
    TextKind{.model_type = "qwen3",
             .qkv_out_bias_key = "attention_bias",
             .qk_norm = true,
             .head_width = 128},
    TextKind{.model_type = "internlm2", .qkv_out_bias_key = "bias", .kv_heads_default = true},
    TextKind{.model_type = "mistral"},
};

/// LLaVA files of 2023 leave out what equals the class default of LlamaConfig and MistralConfig.
struct ClassShape {
  std::string_view model_type;
  std::int64_t width, layers, heads, kv_heads, mlp_width;
};
constexpr std::array kClassShapes = {
    ClassShape{"llama", 4096, 32, 32, 32, 11008},
    ClassShape{"mistral", 4096, 32, 32, 8, 14336},
};

Result<TextKind> text_kind(const ConfigPart& text, const TextDefaults& defaults) {
  if (defaults.model_type.empty() && !text.given("model_type")) {
    return text.problem(ErrorCode::kMissingKey, "model_type", "model_type missing");
  }
  std::string type(defaults.model_type);
  if (!defaults.type_is_fixed) {
    OMNIBAL_ASSIGN(type, text.text_or("model_type", defaults.model_type));
  }
  std::string accepted;
  for (const TextKind& kind : kTextKinds) {
    if (kind.model_type == type) return kind;
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", kind.model_type);
  }
  return text
      .problem(ErrorCode::kUnsupportedModel, "model_type",
               fmt::format("language models of type \"{}\" are not supported", type))
      .with_value(type)
      .with_limit(accepted);
}

Status read_shape(const ConfigPart& text, LanguageModel& model) {
  OMNIBAL_ASSIGN(model.width, text.size("hidden_size"));
  OMNIBAL_ASSIGN(model.num_layers, text.layer_count("num_hidden_layers"));
  OMNIBAL_ASSIGN(model.num_heads, text.size("num_attention_heads"));
  OMNIBAL_ASSIGN(model.mlp_width, text.size("intermediate_size"));
  return {};
}

Status read_class_shape(const ConfigPart& text, const ClassShape& shape, LanguageModel& model) {
  model.width = shape.width;
  model.num_layers = shape.layers;
  model.num_heads = shape.heads;
  OMNIBAL_ASSIGN(model.mlp_width, text.size_or("intermediate_size", shape.mlp_width));
  OMNIBAL_ASSIGN(model.num_kv_heads, text.size_or("num_key_value_heads", shape.kv_heads));
  return {};
}

const ClassShape* class_shape(const ConfigPart& text, std::string_view model_type) {
  if (text.given("hidden_size") || text.given("num_hidden_layers") ||
      text.given("num_attention_heads")) {
    return nullptr;
  }
  for (const ClassShape& shape : kClassShapes) {
    if (shape.model_type == model_type) return &shape;
  }
  return nullptr;
}

Status read_heads(const ConfigPart& text, const TextKind& kind, LanguageModel& model) {
  if (model.num_kv_heads == 0) {
    if (kind.kv_heads_default) {
      OMNIBAL_ASSIGN(model.num_kv_heads, text.size_or("num_key_value_heads", model.num_heads));
    } else {
      OMNIBAL_ASSIGN(model.num_kv_heads, text.size("num_key_value_heads"));
    }
  }
  if (model.num_heads % model.num_kv_heads != 0) {
    return text
        .problem(ErrorCode::kOutOfRange, "num_key_value_heads",
                 "num_attention_heads is no multiple of num_key_value_heads")
        .with_value(model.num_kv_heads)
        .with_limit(model.num_heads);
  }
  const std::int64_t own_width = kind.head_width;
  if (own_width == 0 && !text.given("head_dim") && model.width % model.num_heads != 0) {
    return text
        .problem(ErrorCode::kOutOfRange, "num_attention_heads",
                 "hidden_size is no multiple of num_attention_heads")
        .with_value(model.num_heads)
        .with_limit(model.width);
  }
  const std::int64_t fallback = own_width != 0 ? own_width : model.width / model.num_heads;
  OMNIBAL_ASSIGN(model.head_width, text.size_or("head_dim", fallback));
  return {};
}

Status read_biases(const ConfigPart& text, const TextKind& kind, LanguageModel& model) {
  model.qkv_bias = kind.always_qkv_bias;
  model.qk_norm = kind.qk_norm;
  if (!kind.qkv_out_bias_key.empty()) {
    OMNIBAL_ASSIGN(model.qkv_bias, text.flag_or(kind.qkv_out_bias_key, false));
    model.out_bias = model.qkv_bias;
  }
  if (!kind.mlp_bias_key.empty()) {
    OMNIBAL_ASSIGN(model.mlp_bias, text.flag_or(kind.mlp_bias_key, false));
  }
  return {};
}

}  // namespace

Result<LanguageModel> read_language_model(const ConfigPart& text, const TextDefaults& defaults) {
  OMNIBAL_ASSIGN(const TextKind kind, text_kind(text, defaults));
  LanguageModel model;
  const ClassShape* shape =
      defaults.shape_of_the_class ? class_shape(text, kind.model_type) : nullptr;
  if (shape != nullptr) {
    OMNIBAL_RETURN_IF_ERROR(read_class_shape(text, *shape, model));
  } else {
    OMNIBAL_RETURN_IF_ERROR(read_shape(text, model));
  }
  OMNIBAL_RETURN_IF_ERROR(read_heads(text, kind, model));
  OMNIBAL_RETURN_IF_ERROR(read_biases(text, kind, model));
  OMNIBAL_ASSIGN(model.vocabulary, text.size("vocab_size"));
  OMNIBAL_ASSIGN(model.tied_embedding, text.flag_or("tie_word_embeddings", false));
  model.name = fmt::format("{}-{}x{}", kind.model_type, model.num_layers, model.width);
  return model;
}

}  // namespace omnibal::model
