// SPDX-License-Identifier: Apache-2.0
#include "omnibal/model/parameters.h"

#include <gmock/gmock.h>

#include "omnibal/model/model.h"

namespace omnibal::model {
namespace {

ModelSpec spec_of(const std::string& name) {
  Result<ModelSpec> model = load_model(name);
  EXPECT_TRUE(model.ok()) << name << ": " << (model.ok() ? "" : to_text(model.error()));
  return model.ok() ? *std::move(model) : ModelSpec{};
}

double vision_parameters(const ModelSpec& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (layer.kind == LayerKind::kVisionBlock) sum += static_cast<double>(layer.parameters);
  }
  return sum;
}

double language_parameters(const ModelSpec& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (layer.kind != LayerKind::kVisionBlock && layer.kind != LayerKind::kProjector) {
      sum += static_cast<double>(layer.parameters);
    }
  }
  return sum;
}

struct KnownCount {
  const char* name;
  double billions;
};

/// Within 1 % of what the releases state.
void expect_close(double parameters, double billions, const std::string& name) {
  EXPECT_NEAR(parameters / 1e9, billions, 0.01 * billions) << name;
}

TEST(ModelParameters, VisionTowersHaveTheirPublishedCounts) {
  for (const KnownCount& known : {KnownCount{"internvit-6b", 5.54},
                                  {"internvit-300m", 0.304},
                                  {"clip-vit-l-14-336", 0.3035},
                                  {"eva-clip-8b", 7.53},
                                  {"eva-clip-18b", 17.6}}) {
    expect_close(vision_parameters(spec_of(std::string(known.name) + "+llama3-8b")), known.billions,
                 known.name);
  }
}

TEST(ModelParameters, LanguageModelsHaveTheirPublishedCounts) {
  for (const KnownCount& known : {KnownCount{"internlm2-20b", 19.86},
                                  {"yi-34b", 34.39},
                                  {"llama3-8b", 8.03},
                                  {"llama3-70b", 70.55},
                                  {"qwen1.5-110b", 111.2},
                                  {"qwen2.5-0.5b", 0.494}}) {
    expect_close(language_parameters(spec_of(std::string("internvit-300m+") + known.name)),
                 known.billions, known.name);
  }
}

TEST(ModelParameters, CountsEveryPartOfAnInternVit6bBlock) {
  const BlockParameters block = vision_block_parameters(spec_of("internvl-chat-1.5-26b").vision);
  // No qkv bias; query-key norms; projection bias, two RMSNorms, two layer scales.
  EXPECT_EQ(block.attention_query, 2 * 3200 * 3200 + 3200);
  EXPECT_EQ(block.attention_kv, 2 * 3200 * 3200 + 3200);
  EXPECT_EQ(block.mlp, 2 * 3200 * 12800 + 12800);
  EXPECT_EQ(block.whole, 6 * 3200);
}

TEST(ModelParameters, PatchEmbeddingIsConvolutionClassTokenAndPositions) {
  EXPECT_EQ(patch_embedding_parameters(spec_of("internvl-chat-1.5-26b").vision),
            588 * 3200 + 3200 + 3200 + 1025 * 3200);
  // CLIP: no bias, a norm before the first block.
  EXPECT_EQ(patch_embedding_parameters(spec_of("clip-vit-l-14-336+llama3-8b").vision),
            588 * 1024 + 1024 + 577 * 1024 + 2 * 1024);
}

TEST(ModelParameters, ATiedTableCountsOnce) {
  const ModelSpec model = spec_of("internvit-300m+qwen2.5-0.5b");
  EXPECT_EQ(model.layers.back().parameters, 896);  // the final norm
  const std::size_t embedding = model.layers.size() - 24 - 2;
  EXPECT_EQ(model.layers[embedding].parameters, 151936 * 896);
}

TEST(ModelParameters, ModelIsTheSumOfItsLayers) {
  const ModelSpec model = spec_of("internvl-chat-1.5-26b");
  expect_close(static_cast<double>(model.parameters()), 5.54 + 0.116 + 19.86, "whole");
}

}  // namespace
}  // namespace omnibal::model
