// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>

#include "data_paths.h"
#include "omnibal/codec/json.h"
#include "omnibal/model/model.h"

namespace omnibal::model {
namespace {

using codec::Json;
using ::testing::HasSubstr;

ModelSpec load(const std::string& path) {
  Result<ModelSpec> model = load_model(path);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : to_text(model.error()));
  return model.ok() ? *std::move(model) : ModelSpec{};
}

/// A directory of its own that goes away with the test.
class HuggingFace : public ::testing::Test {
 protected:
  HuggingFace()
      : directory_(std::filesystem::path(::testing::TempDir()) /
                   (std::string("omnibal_hf_") +
                    ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(directory_);
  }
  ~HuggingFace() override { std::filesystem::remove_all(directory_); }

  /// The model of `file` after `edit`, read from a directory's config.json.
  Result<ModelSpec> edited(const std::string& file, const std::function<void(Json&)>& edit) {
    Result<Json> document = codec::read_json(test_data(file));
    if (!document.ok()) return document.error();
    edit(*document);
    const Status written = codec::write_json((directory_ / "config.json").string(), *document);
    if (!written.ok()) return written.error();
    return load_model(directory_.string());
  }

  void expect_error(const Result<ModelSpec>& model, ErrorCode code, const std::string& key) {
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, code) << to_text(model.error());
    EXPECT_EQ(model.error().where.key, key);
    EXPECT_EQ(model.error().where.file, (directory_ / "config.json").string());
  }

  std::filesystem::path directory_;
};

TEST_F(HuggingFace, ReadsInternVl3) {
  const ModelSpec model = load(test_data("internvl3_1b.json"));
  EXPECT_EQ(model.layers.size(), 24u + 3 + 24);
  EXPECT_EQ(model.vision.tokens_per_unit, 1025);
  EXPECT_TRUE(model.vision.qkv_bias);
  EXPECT_EQ(model.projector.tokens_per_unit, 256);
  EXPECT_EQ(model.language.head_width, 64);
  EXPECT_TRUE(model.language.qkv_bias);
  // The same shapes as the known parts, but for the vocabulary (151,674).
  const ModelSpec pair = load("internvit-300m+qwen2.5-0.5b");
  EXPECT_EQ(pair.parameters() - model.parameters(), (151936 - 151674) * 896);
}

TEST_F(HuggingFace, TheTopLevelDecidesWhetherEmbeddingsAreTied) {
  EXPECT_TRUE(load(test_data("internvl3_1b.json")).language.tied_embedding);
  const auto untied =
      edited("internvl3_1b.json", [](Json& root) { root["tie_word_embeddings"] = false; });
  ASSERT_TRUE(untied.ok());
  EXPECT_FALSE(untied->language.tied_embedding);
  const auto silent =
      edited("internvl3_1b.json", [](Json& root) { root.erase("tie_word_embeddings"); });
  ASSERT_TRUE(silent.ok());
  EXPECT_TRUE(silent->language.tied_embedding);  // the class default of internvl
  EXPECT_FALSE(load(test_data("llava_7b.json")).language.tied_embedding);
  EXPECT_TRUE(load(test_data("qwen2_5_vl_3b.json")).language.tied_embedding);
}

TEST_F(HuggingFace, ReadsTheRemoteCodeFormOfInternVl) {
  const ModelSpec model = load(test_data("internvl_chat_26b.json"));
  const ModelSpec preset = load("internvl-chat-1.5-26b");
  ASSERT_EQ(model.layers.size(), 96u);
  for (std::size_t i = 0; i < 46; ++i) {
    EXPECT_EQ(model.layers[i].parameters, preset.layers[i].parameters) << i;
  }
  EXPECT_EQ(model.layers[47].parameters, preset.layers[47].parameters);
  EXPECT_EQ(model.language.vocabulary, 92553);
  const auto shorter =
      edited("internvl_chat_26b.json", [](Json& root) { root["select_layer"] = -4; });
  ASSERT_TRUE(shorter.ok());
  EXPECT_EQ(shorter->vision.num_layers, 42);
}

TEST_F(HuggingFace, ReadsLlavaWithoutItsLastVisionLayer) {
  const ModelSpec model = load(test_data("llava_7b.json"));
  EXPECT_EQ(model.vision.num_layers, 23);  // feature layer -2
  EXPECT_EQ(model.vision.tokens_per_unit, 577);
  EXPECT_EQ(model.projector.tokens_per_unit, 576);
  EXPECT_FALSE(model.projector.input_norm);
  EXPECT_EQ(model.language.num_layers, 32);  // the class default, which the file leaves out
  EXPECT_EQ(model.language.num_kv_heads, 32);
  // 7.06 B in all: Vicuna 6.74 B, projector 0.02 B, tower 0.29 B.
  EXPECT_NEAR(static_cast<double>(model.parameters()), 7.05e9, 0.02e9);
}

TEST_F(HuggingFace, LlavaFeatureOptionsChangeLayersTokensAndProjector) {
  const auto full = edited("llava_7b.json", [](Json& root) {
    root["vision_feature_layer"] = -1;
    root["vision_feature_select_strategy"] = "full";
  });
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->vision.num_layers, 24);
  EXPECT_EQ(full->projector.tokens_per_unit, 577);
  const auto list = edited("llava_7b.json", [](Json& root) {
    root["vision_feature_layer"] = Json::array({-2, 5});
  });
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->vision.num_layers, 23);
  EXPECT_EQ(list->projector.input_width, 2048);
  const auto none = edited("llava_7b.json", [](Json& root) { root["vision_feature_layer"] = -30; });
  expect_error(none, ErrorCode::kOutOfRange, "vision_feature_layer");
}

TEST_F(HuggingFace, ReadsQwen2VlWithPatchesAsUnits) {
  const ModelSpec model = load(test_data("qwen2_vl_7b.json"));
  EXPECT_EQ(model.vision.image_size, 0);
  EXPECT_EQ(model.vision.tokens_per_unit, 1);
  EXPECT_EQ(model.projector.tokens_per_unit, 0.25);
  EXPECT_EQ(model.vision.mlp_width, 5120);
  EXPECT_EQ(model.vision.patch_inputs, 3 * 2 * 14 * 14);
  // The report of Qwen2-VL: 675 M vision with the merger; 8.29 B in all.
  std::int64_t vision = 0;
  for (const Layer& layer : model.layers) {
    if (layer.kind == LayerKind::kVisionBlock || layer.kind == LayerKind::kProjector) {
      vision += layer.parameters;
    }
  }
  EXPECT_NEAR(static_cast<double>(vision), 675e6, 0.01 * 675e6);
  EXPECT_NEAR(static_cast<double>(model.parameters()), 8.29e9, 0.01 * 8.29e9);
}

TEST_F(HuggingFace, ReadsQwen25VlWithGatedMlpAndWindows) {
  const ModelSpec model = load(test_data("qwen2_5_vl_3b.json"));
  EXPECT_TRUE(model.vision.gated_mlp);
  EXPECT_EQ(model.vision.mlp_width, 3420);
  EXPECT_EQ(model.vision.window_tokens, 64);
  EXPECT_THAT(model.vision.full_blocks, ::testing::ElementsAre(7, 15, 23, 31));
  EXPECT_EQ(model.projector.output_width, 2048);
  EXPECT_NEAR(static_cast<double>(model.parameters()), 3.75e9, 0.01 * 3.75e9);
}

TEST_F(HuggingFace, QwenTextMayStandInATextConfig) {
  const auto nested = edited("qwen2_vl_7b.json", [](Json& root) {
    Json text = Json::object();
    for (const char* key : {"hidden_size", "intermediate_size", "num_attention_heads",
                            "num_hidden_layers", "num_key_value_heads", "vocab_size"}) {
      text[key] = root[key];
      root.erase(key);
    }
    text["model_type"] = "qwen2_vl_text";
    root["text_config"] = text;
  });
  ASSERT_TRUE(nested.ok()) << to_text(nested.error());
  EXPECT_EQ(nested->parameters(), load(test_data("qwen2_vl_7b.json")).parameters());
}

TEST_F(HuggingFace, Qwen3TextHasItsOwnHeadWidthAndNorms) {
  const auto model = edited("internvl3_1b.json", [](Json& root) {
    root["text_config"]["model_type"] = "qwen3";
    root["text_config"]["head_dim"] = 128;
  });
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->language.head_width, 128);
  EXPECT_TRUE(model->language.qk_norm);
  EXPECT_FALSE(model->language.qkv_bias);
}

TEST_F(HuggingFace, UnknownTypesNameTheAccepted) {
  const auto model = edited("llava_7b.json", [](Json& root) { root["model_type"] = "idefics3"; });
  expect_error(model, ErrorCode::kUnsupportedModel, "model_type");
  EXPECT_THAT(std::get<std::string>(model.error().limit), HasSubstr("qwen2_5_vl"));
  const auto text =
      edited("internvl3_1b.json", [](Json& root) { root["text_config"]["model_type"] = "mamba"; });
  expect_error(text, ErrorCode::kUnsupportedModel, "text_config.model_type");
  const auto tower =
      edited("llava_7b.json", [](Json& root) { root["vision_config"]["model_type"] = "dinov2"; });
  expect_error(tower, ErrorCode::kUnsupportedModel, "vision_config.model_type");
}

struct Place {
  const char* file;
  const char* part;  // nullptr: the top level
  const char* key;
};

std::string path_of(const Place& place) {
  return place.part == nullptr ? place.key : std::string(place.part) + "." + place.key;
}

Json& object_of(Json& root, const Place& place) {
  return place.part == nullptr ? root : root[place.part];
}

TEST_F(HuggingFace, AMissingKeyIsNamedWithItsFile) {
  for (const Place& place : {Place{"internvl3_1b.json", nullptr, "model_type"},
                             {"internvl3_1b.json", nullptr, "vision_config"},
                             {"internvl3_1b.json", "text_config", "hidden_size"},
                             {"internvl3_1b.json", "text_config", "vocab_size"},
                             {"internvl3_1b.json", "vision_config", "num_hidden_layers"},
                             {"internvl3_1b.json", "vision_config", "image_size"},
                             {"internvl_chat_26b.json", "llm_config", "intermediate_size"},
                             {"llava_7b.json", "text_config", "vocab_size"},
                             {"llava_7b.json", "vision_config", "patch_size"},
                             {"qwen2_vl_7b.json", nullptr, "num_hidden_layers"},
                             {"qwen2_vl_7b.json", nullptr, "num_key_value_heads"},
                             {"qwen2_vl_7b.json", "vision_config", "depth"},
                             {"qwen2_5_vl_3b.json", "vision_config", "intermediate_size"}}) {
    SCOPED_TRACE(path_of(place));
    const auto model =
        edited(place.file, [&](Json& root) { object_of(root, place).erase(place.key); });
    expect_error(model, ErrorCode::kMissingKey, path_of(place));
  }
}

TEST_F(HuggingFace, ALlavaTextWithHalfAShapeIsRefused) {
  const auto model =
      edited("llava_7b.json", [](Json& root) { root["text_config"]["num_hidden_layers"] = 40; });
  expect_error(model, ErrorCode::kMissingKey, "text_config.hidden_size");
}

struct Nonsense {
  Place place;
  Json value;
  ErrorCode code;
};

TEST_F(HuggingFace, NonsenseIsRefused) {
  const Place layers{"internvl3_1b.json", "text_config", "num_hidden_layers"};
  const Place heads{"internvl3_1b.json", "text_config", "num_attention_heads"};
  const Place kv{"internvl3_1b.json", "text_config", "num_key_value_heads"};
  const Place image{"internvl3_1b.json", "vision_config", "image_size"};
  const Place patch{"internvl3_1b.json", "vision_config", "patch_size"};
  const Place ratio{"internvl3_1b.json", nullptr, "downsample_ratio"};
  const Place tokens{"internvl3_1b.json", nullptr, "image_seq_length"};
  const Place merged{"qwen2_5_vl_3b.json", "vision_config", "out_hidden_size"};
  for (const Nonsense& bad : {Nonsense{layers, 0, ErrorCode::kOutOfRange},
                              {layers, -3, ErrorCode::kOutOfRange},
                              {layers, 1'000'000, ErrorCode::kOutOfRange},
                              {layers, 1e30, ErrorCode::kWrongType},
                              {layers, "24", ErrorCode::kWrongType},
                              {heads, 13, ErrorCode::kOutOfRange},
                              {kv, 4, ErrorCode::kOutOfRange},
                              {image, Json::array({448, 336}), ErrorCode::kOutOfRange},
                              {patch, 500, ErrorCode::kOutOfRange},
                              {ratio, 0.3, ErrorCode::kOutOfRange},
                              {ratio, 2, ErrorCode::kOutOfRange},
                              {tokens, 144, ErrorCode::kConflictingKeys},
                              {merged, 1024, ErrorCode::kConflictingKeys}}) {
    SCOPED_TRACE(path_of(bad.place) + " = " + bad.value.dump());
    const auto model = edited(
        bad.place.file, [&](Json& root) { object_of(root, bad.place)[bad.place.key] = bad.value; });
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, bad.code) << to_text(model.error());
    EXPECT_THAT(model.error().where.key,
                HasSubstr(bad.place.part == nullptr ? bad.place.key : bad.place.part));
  }
}

}  // namespace
}  // namespace omnibal::model
