// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/profile.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "data_paths.h"
#include "omnibal/codec/files.h"

namespace omnibal::cost {
namespace {

using model::LayerKind;

LayerProfile layer(const std::string& name, bool trainable, double forward_s) {
  LayerProfile profile;
  profile.name = name;
  profile.trainable = trainable;
  profile.forward_s.constant = forward_s;
  profile.input_grad_s.constant = forward_s * 10;
  profile.weight_grad_s.constant = forward_s * 100;
  profile.recompute_s.constant = forward_s * 1000;
  profile.activation_bytes = {.constant = 4, .per_token = 2};
  profile.recomputed_bytes.constant = 3;
  profile.static_bytes.constant = 7;
  profile.boundary_bytes.constant = 5;
  return profile;
}

Profile profile_of(std::vector<LayerProfile> layers) {
  Profile profile;
  profile.load = {1, 10, 100};
  profile.layers = std::move(layers);
  return profile;
}

TEST(LinearCostTest, IsLinearInTheLoad) {
  const LinearCost cost{1, 10, 100, 1000};
  EXPECT_EQ(cost.at({2, 3, 4}), 1 + 20 + 300 + 4000);
  EXPECT_FALSE(cost.is_zero());
  EXPECT_TRUE(LinearCost{}.is_zero());
  LinearCost sum = 2 * cost;
  sum += cost;
  EXPECT_EQ(sum, (LinearCost{3, 30, 300, 3000}));
}

TEST(Evaluate, TheFirstLayerHandsNoGradientBack) {
  const auto costs = evaluate(profile_of({layer("a", true, 1), layer("b", true, 1)}), {0, 10, 0});
  EXPECT_EQ(costs[0].input_grad_s, 0);
  EXPECT_EQ(costs[0].weight_grad_s, 100);
  EXPECT_EQ(costs[1].input_grad_s, 10);
  EXPECT_EQ(costs[1].backward_s(), 110);
  EXPECT_EQ(costs[1].activation_bytes, 24);
  EXPECT_EQ(costs[1].boundary_bytes, 5);
  EXPECT_TRUE(costs[1].can_recompute);
}

// P07 of the minimal inputs: a frozen ViT.
TEST(Evaluate, AFrozenBeginningHasNoBackwardAndKeepsNothing) {
  const auto costs = evaluate(profile_of({layer("vision.0", false, 1), layer("vision.1", false, 1),
                                          layer("llm.0", true, 1)}),
                              {0, 10, 0});
  for (const std::size_t frozen : {0u, 1u}) {
    EXPECT_EQ(costs[frozen].forward_s, 1);
    EXPECT_EQ(costs[frozen].backward_s(), 0);
    EXPECT_EQ(costs[frozen].recompute_s, 0);
    EXPECT_EQ(costs[frozen].activation_bytes, 0);
    EXPECT_EQ(costs[frozen].recomputed_bytes, 0);
    EXPECT_EQ(costs[frozen].static_bytes, 7);
    EXPECT_EQ(costs[frozen].boundary_bytes, 5);
    EXPECT_FALSE(costs[frozen].can_recompute);
  }
  EXPECT_EQ(costs[2].input_grad_s, 0);  // nothing trainable before it
  EXPECT_EQ(costs[2].weight_grad_s, 100);
  EXPECT_EQ(costs[2].activation_bytes, 24);
}

// P07 of the minimal inputs: a frozen LLM behind a trainable projector.
TEST(Evaluate, AFrozenLayerBehindSomethingTrainableHasItsInputGradientOnly) {
  const auto costs =
      evaluate(profile_of({layer("projector", true, 1), layer("llm.0", false, 1)}), {0, 10, 0});
  EXPECT_EQ(costs[1].input_grad_s, 10);
  EXPECT_EQ(costs[1].weight_grad_s, 0);
  EXPECT_EQ(costs[1].recompute_s, 1000);
  EXPECT_EQ(costs[1].activation_bytes, 24);
  EXPECT_TRUE(costs[1].can_recompute);
}

TEST(Evaluate, ALayerThatSavesNothingCannotRecompute) {
  LayerProfile head = layer("head", true, 1);
  head.recomputed_bytes = head.activation_bytes;
  EXPECT_FALSE(evaluate(profile_of({head}), {0, 10, 0})[0].can_recompute);
}

TEST(Evaluate, BytesAreRoundedToWholeNumbers) {
  LayerProfile one = layer("a", true, 1);
  one.static_bytes = {.per_token = 0.25};
  EXPECT_EQ(evaluate(profile_of({one}), {0, 7, 0})[0].static_bytes, 2);  // 1.75
}

TEST(LayerTimesTest, AgreeWithEvaluateAtEveryLoad) {
  Profile profile = profile_of(
      {layer("a", false, 1), layer("b", true, 2), layer("c", false, 3), layer("d", true, 4)});
  profile.layers[3].forward_s.per_vision_unit = 0.5;
  profile.layers[3].input_grad_s.per_token = 0.25;
  profile.layers[2].recompute_s.per_token_pair = 0.125;
  const auto times = layer_times(profile);
  for (const Load& load : {Load{0, 0, 0}, Load{1, 2, 3}, Load{9, 4096, 1e6}}) {
    const auto costs = evaluate(profile, load);
    double forward = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      EXPECT_DOUBLE_EQ(times[i].forward_s.at(load), costs[i].forward_s);
      EXPECT_DOUBLE_EQ(times[i].backward_s.at(load), costs[i].backward_s());
      EXPECT_DOUBLE_EQ(times[i].recompute_s.at(load), costs[i].recompute_s);
      forward += costs[i].forward_s;
    }
    EXPECT_DOUBLE_EQ(total_forward(profile).at(load), forward);
  }
}

TEST(ReadProfile, WorkloadW) {
  const Result<Profile> w = read_profile(test_data("w.json"));
  ASSERT_TRUE(w.ok()) << to_text(w.error());
  ASSERT_EQ(w->layers.size(), 96u);
  const auto costs = evaluate(*w, w->load);
  double forward = 0;
  for (const LayerCost& cost : costs) {
    forward += cost.forward_s;
    EXPECT_NEAR(cost.backward_s(), 2 * cost.forward_s, 1e-15);
  }
  EXPECT_NEAR(forward, 45 * 0.0031 + 0.0005 + 0.0003 + 48 * 0.0052 + 0.002, 1e-12);
  EXPECT_EQ(w->layers[46].kind, LayerKind::kTokenEmbedding);
  EXPECT_EQ(costs[47].recomputed_bytes, 50'000'000);
  EXPECT_EQ(costs[47].recompute_s, 0.0052);  // absent: forward_s
  EXPECT_FALSE(costs[95].can_recompute);
}

TEST(ReadProfile, AbsentFieldsEqualTheForwardOrNothing) {
  const auto profile = parse_profile(
      R"({"format": "omnibal.profile", "version": 1, "load": {"vision_units": 1, "tokens": 2,
          "token_pairs": 4}, "layers": [{"name": "a", "forward_s": {"per_token": 0.5},
          "activation_bytes": 8}]})",
      "p.json");
  ASSERT_TRUE(profile.ok()) << to_text(profile.error());
  const LayerProfile& layer = profile->layers[0];
  EXPECT_EQ(profile->source, "manual");
  EXPECT_FALSE(layer.kind.has_value());
  EXPECT_TRUE(layer.trainable);
  EXPECT_EQ(layer.input_grad_s, layer.forward_s);
  EXPECT_EQ(layer.weight_grad_s, layer.forward_s);
  EXPECT_EQ(layer.recompute_s, layer.forward_s);
  EXPECT_EQ(layer.recomputed_bytes, layer.activation_bytes);
  EXPECT_TRUE(layer.static_bytes.is_zero());
}

class WrittenProfile : public ::testing::Test {
 protected:
  ~WrittenProfile() override { std::filesystem::remove(path_); }
  std::string path_ = ::testing::TempDir() + "omnibal_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

void expect_same(const Profile& a, const Profile& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.provenance, b.provenance);
  EXPECT_EQ(a.load.vision_units, b.load.vision_units);
  EXPECT_EQ(a.load.tokens, b.load.tokens);
  EXPECT_EQ(a.load.token_pairs, b.load.token_pairs);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    SCOPED_TRACE(a.layers[i].name);
    EXPECT_EQ(a.layers[i].name, b.layers[i].name);
    EXPECT_EQ(a.layers[i].kind, b.layers[i].kind);
    EXPECT_EQ(a.layers[i].trainable, b.layers[i].trainable);
    EXPECT_EQ(a.layers[i].parameters, b.layers[i].parameters);
    EXPECT_EQ(a.layers[i].forward_s, b.layers[i].forward_s);
    EXPECT_EQ(a.layers[i].input_grad_s, b.layers[i].input_grad_s);
    EXPECT_EQ(a.layers[i].weight_grad_s, b.layers[i].weight_grad_s);
    EXPECT_EQ(a.layers[i].recompute_s, b.layers[i].recompute_s);
    EXPECT_EQ(a.layers[i].activation_bytes, b.layers[i].activation_bytes);
    EXPECT_EQ(a.layers[i].recomputed_bytes, b.layers[i].recomputed_bytes);
    EXPECT_EQ(a.layers[i].static_bytes, b.layers[i].static_bytes);
    EXPECT_EQ(a.layers[i].boundary_bytes, b.layers[i].boundary_bytes);
  }
}

TEST_F(WrittenProfile, ComesBackBitForBit) {
  Profile profile = profile_of({layer("vision.0", false, 0.1), layer("vision.1", true, 1.0 / 3)});
  profile.source = "measured";
  profile.provenance = {{"tool", "omnibal 0.1.0"}, {"device", "A \"quoted\" name"}};
  profile.load = {8.828, 3420.25, 3.4e6 + 1.0 / 3};
  profile.layers[0].kind = LayerKind::kVisionBlock;
  profile.layers[0].parameters = 122918400;
  profile.layers[1].forward_s = {1e-300, 1.0 / 7, 3.1e-19, 5e-324};
  profile.layers[1].static_bytes = {0, 0, 0.1, 0};
  ASSERT_TRUE(write_profile(profile, path_).ok());
  const Result<Profile> back = read_profile(path_);
  ASSERT_TRUE(back.ok()) << to_text(back.error());
  expect_same(profile, *back);
}

TEST_F(WrittenProfile, WritingAgainGivesTheSameBytes) {
  const Result<Profile> w = read_profile(test_data("w.json"));
  ASSERT_TRUE(w.ok());
  ASSERT_TRUE(write_profile(*w, path_).ok());
  const Result<std::string> once = codec::read_file(path_);
  const Result<Profile> back = read_profile(path_);
  ASSERT_TRUE(back.ok());
  expect_same(*w, *back);
  ASSERT_TRUE(write_profile(*back, path_).ok());
  EXPECT_EQ(*once, *codec::read_file(path_));
}

TEST(ReadProfile, AMissingFileIsSaidSo) {
  const auto profile = read_profile("no/such/profile.json");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace omnibal::cost
