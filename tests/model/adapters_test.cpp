// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "omnibal/model/model.h"
#include "omnibal/model/parameters.h"

namespace omnibal::model {
namespace {

ModelSpec internvl_chat() {
  Result<ModelSpec> model = load_model("internvl-chat-1.5-26b");
  EXPECT_TRUE(model.ok());
  return *std::move(model);
}

Status add(ModelSpec& model, std::string_view part, std::int64_t rank,
           const std::vector<std::string>& targets) {
  return add_adapters(model, part, rank, targets);
}

constexpr std::size_t kProjector = 45, kEmbedding = 46, kLlm = 47, kHead = 95;

TEST(Adapters, OnlyTheyTrainInTheirPart) {
  ModelSpec model = internvl_chat();
  const std::int64_t before = model.parameters();
  ASSERT_TRUE(add(model, "llm", 8, {"all"}).ok());
  // InternLM2-20B: width 6144, 48 heads and 8 key-value heads of 128, MLP 16384. Each adapter has
  // rank x (in + out).
  const std::int64_t block =
      8 * ((6144 + 6144) + 2 * (6144 + 1024) + (6144 + 6144) + 3 * (6144 + 16384));
  EXPECT_EQ(model.layers[kLlm].adapter_parameters, block);
  EXPECT_EQ(model.parameters(), before + 48 * block);
  EXPECT_TRUE(model.layers[kLlm].trainable);
  EXPECT_FALSE(model.layers[kEmbedding].trainable);
  EXPECT_FALSE(model.layers[kHead].trainable);
  EXPECT_TRUE(model.layers[kProjector].trainable);
  EXPECT_TRUE(model.layers[0].trainable);
  EXPECT_EQ(model.layers[0].adapter_parameters, 0);
}

TEST(Adapters, OneOnTheFusedProjectionIsSmallerThanThree) {
  ModelSpec fused = internvl_chat();
  ModelSpec apart = internvl_chat();
  ASSERT_TRUE(add(fused, "vision", 4, {"qkv"}).ok());
  ASSERT_TRUE(add(apart, "vision", 4, {"q", "k", "v"}).ok());
  EXPECT_EQ(fused.layers[0].adapter_parameters, 4 * (3200 + 3 * 3200));
  EXPECT_EQ(apart.layers[0].adapter_parameters, 4 * 3 * (3200 + 3200));
}

TEST(Adapters, AMlpWithoutGateHasNone) {
  ModelSpec model = internvl_chat();
  ASSERT_TRUE(add(model, "vision", 2, {"mlp"}).ok());
  EXPECT_THAT(target_names(model.vision.adapters), testing::ElementsAre("up", "down"));
  const Status gate = add(model, "vision", 2, {"gate"});
  ASSERT_FALSE(gate.ok());
  EXPECT_EQ(gate.error().code, ErrorCode::kInvalidArgument);
}

TEST(Adapters, KeepTrainingWhateverIsFrozenWhen) {
  ModelSpec first = internvl_chat();
  ModelSpec last = internvl_chat();
  ASSERT_TRUE(freeze(first, "llm").ok());
  ASSERT_TRUE(add(first, "llm", 8, {"attention"}).ok());
  ASSERT_TRUE(add(last, "llm", 8, {"attention"}).ok());
  ASSERT_TRUE(freeze(last, "llm").ok());
  for (std::size_t i = 0; i < first.layers.size(); ++i) {
    EXPECT_EQ(first.layers[i].trainable, last.layers[i].trainable) << i;
    EXPECT_EQ(first.layers[i].parameters, last.layers[i].parameters) << i;
  }
}

TEST(Adapters, GivenAgainReplaceTheOnesBefore) {
  ModelSpec twice = internvl_chat();
  ModelSpec once = internvl_chat();
  ASSERT_TRUE(add(twice, "llm", 64, {"all"}).ok());
  ASSERT_TRUE(add(twice, "llm", 8, {"q"}).ok());
  ASSERT_TRUE(add(once, "llm", 8, {"q", "q"}).ok());
  EXPECT_EQ(twice.parameters(), once.parameters());
}

TEST(Adapters, SayWhatIsWrong) {
  ModelSpec model = internvl_chat();
  EXPECT_FALSE(add(model, "projector", 8, {"all"}).ok());
  EXPECT_FALSE(add(model, "llm", 0, {"all"}).ok());
  EXPECT_FALSE(add(model, "llm", 8, {"query"}).ok());
  EXPECT_FALSE(add(model, "llm", 8, {"qkv", "v"}).ok());
  EXPECT_TRUE(model.layers[kLlm].adapter_parameters == 0 && model.layers[kHead].trainable);
}

}  // namespace
}  // namespace omnibal::model
