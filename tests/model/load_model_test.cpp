// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "omnibal/model/model.h"

namespace omnibal::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelSpec loaded(const std::string& name) {
  Result<ModelSpec> model = load_model(name);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : to_text(model.error()));
  return model.ok() ? *std::move(model) : ModelSpec{};
}

/// Cuts of the exact min-max of `parameters` by brute force over three cuts, lowest first.
std::vector<std::size_t> even_parameter_cuts(const std::vector<Layer>& layers) {
  std::vector<std::int64_t> prefix{0};
  for (const Layer& layer : layers) prefix.push_back(prefix.back() + layer.parameters);
  const std::size_t n = layers.size();
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::vector<std::size_t> cuts;
  for (std::size_t a = 1; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      for (std::size_t c = b + 1; c < n; ++c) {
        const std::int64_t largest = std::max(
            {prefix[a], prefix[b] - prefix[a], prefix[c] - prefix[b], prefix[n] - prefix[c]});
        if (largest < best) best = largest, cuts = {a, b, c};
      }
    }
  }
  return cuts;
}

TEST(LoadModel, InternVlChat15HasTheLayersOfThePaper) {
  const ModelSpec model = loaded("internvl-chat-1.5-26b");
  ASSERT_EQ(model.layers.size(), 45u + 1 + 1 + 48 + 1);
  EXPECT_EQ(model.layers[0].name, "vision.0");
  EXPECT_EQ(model.layers[44].name, "vision.44");
  EXPECT_EQ(model.layers[45].name, "projector");
  EXPECT_EQ(model.layers[46].name, "token_embedding");
  EXPECT_EQ(model.layers[47].name, "llm.0");
  EXPECT_EQ(model.layers[94].name, "llm.47");
  EXPECT_EQ(model.layers[95].name, "head");
  EXPECT_EQ(model.layers[95].kind, LayerKind::kHead);
}

TEST(LoadModel, EvenParametersCutInternVlChat15AsMegatronDoes) {
  EXPECT_THAT(even_parameter_cuts(loaded("internvl-chat-1.5-26b").layers), ElementsAre(48, 64, 80));
}

TEST(LoadModel, AnyPairOfPartsIsAModel) {
  for (const std::string& vision : vision_tower_names()) {
    for (const std::string& language : language_model_names()) {
      const ModelSpec model = loaded(vision + "+" + language);
      EXPECT_EQ(model.vision.name, vision);
      EXPECT_EQ(model.language.name, language);
      EXPECT_EQ(static_cast<std::int64_t>(model.layers.size()),
                model.vision.num_layers + 3 + model.language.num_layers);
      EXPECT_EQ(model.projector.output_width, model.language.width);
    }
  }
}

TEST(LoadModel, NamesTakeAnyCaseAndTheSuffixOfTheReleases) {
  EXPECT_EQ(loaded("InternVL-Chat-1.5-26B").parameters(),
            loaded("INTERNVIT-6B-448px+InternLM2-20B").parameters());
}

TEST(LoadModel, ATileOf448PixelsIs1025VisionAnd256LlmTokens) {
  const ModelSpec model = loaded("internvit-300m+llama3-8b");
  EXPECT_EQ(model.vision.tokens_per_unit, 1025);
  EXPECT_EQ(model.projector.tokens_per_unit, 256);
  EXPECT_EQ(model.projector.input_width, 4 * 1024);
  EXPECT_TRUE(model.projector.input_norm);
}

TEST(LoadModel, Clip336Is577VisionAnd576LlmTokensWithoutPixelShuffle) {
  const ModelSpec model = loaded("clip-vit-l-14-336+llama3-8b");
  EXPECT_EQ(model.vision.tokens_per_unit, 577);
  EXPECT_EQ(model.projector.tokens_per_unit, 576);
  EXPECT_EQ(model.projector.input_width, 1024);
  EXPECT_FALSE(model.projector.input_norm);
}

TEST(LoadModel, UnknownNamesAreToldTheNearest) {
  const auto preset = load_model("internvl-chat-1.5-62b");
  ASSERT_FALSE(preset.ok());
  EXPECT_EQ(preset.error().code, ErrorCode::kUnknownPreset);
  EXPECT_THAT(preset.error().message, HasSubstr("internvl-chat-1.5-26b"));
  const auto vision = load_model("internvit-7b+llama3-8b");
  ASSERT_FALSE(vision.ok());
  EXPECT_THAT(vision.error().message, HasSubstr("internvit-6b"));
  const auto language = load_model("internvit-6b+llama3-80b");
  ASSERT_FALSE(language.ok());
  EXPECT_EQ(language.error().code, ErrorCode::kUnknownPreset);
  EXPECT_THAT(language.error().message, HasSubstr("language model"));
}

TEST(LoadModel, AMissingFileIsNotAnUnknownPreset) {
  const auto model = load_model("no/such/config.json");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kFileNotFound);
}

TEST(Freeze, FreezesTheLayersOfOnePart) {
  ModelSpec model = loaded("internvl-chat-1.5-26b");
  ASSERT_TRUE(freeze(model, "vision").ok());
  for (const Layer& layer : model.layers) {
    EXPECT_EQ(layer.trainable, layer.kind != LayerKind::kVisionBlock) << layer.name;
  }
  ASSERT_TRUE(freeze(model, "llm").ok());
  for (const Layer& layer : model.layers) {
    EXPECT_EQ(layer.trainable, layer.kind == LayerKind::kProjector) << layer.name;
  }
  EXPECT_FALSE(model.vision.trainable);
  EXPECT_FALSE(model.language.trainable);
  EXPECT_TRUE(model.projector.trainable);
}

TEST(Freeze, RefusesAnUnknownPart) {
  ModelSpec model = loaded("internvl-chat-1.5-26b");
  const Status status = freeze(model, "vit");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
}

TEST(LayerKindNames, RoundTrip) {
  for (const LayerKind kind :
       {LayerKind::kPatchEmbedding, LayerKind::kVisionBlock, LayerKind::kProjector,
        LayerKind::kTokenEmbedding, LayerKind::kLlmBlock, LayerKind::kHead}) {
    const Result<LayerKind> parsed = parse_layer_kind(to_string(kind));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, kind);
  }
  EXPECT_EQ(to_string(LayerKind::kTokenEmbedding), "token_embedding");
  EXPECT_FALSE(parse_layer_kind("block").ok());
}

}  // namespace
}  // namespace omnibal::model
