// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdio>

#include "omnibal/base/philox.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cost {
namespace {

LinearCost random_cost(PhiloxRng& rng, double scale) {
  LinearCost cost;
  cost.constant = rng.below(2) == 0 ? scale * rng.uniform() : 0;
  cost.per_vision_unit = rng.below(2) == 0 ? scale * rng.uniform() : 0;
  cost.per_token = rng.below(2) == 0 ? 1e-3 * scale * rng.uniform() : 0;
  cost.per_token_pair = rng.below(2) == 0 ? 1e-9 * scale * rng.uniform() : 0;
  return cost;
}

Profile random_profile(PhiloxRng& rng) {
  Profile profile;
  profile.load = {rng.uniform() * 20, rng.uniform() * 8192, rng.uniform() * 1e7};
  const std::uint32_t count = 1 + rng.below(12);
  for (std::uint32_t i = 0; i < count; ++i) {
    LayerProfile layer;
    layer.name = fmt::format("layer.{}", i);
    if (rng.below(2) == 0) layer.kind = static_cast<model::LayerKind>(rng.below(6));
    layer.trainable = rng.below(2) == 0;
    layer.parameters = rng.below(1u << 30);
    layer.forward_s = random_cost(rng, 1e-2);
    layer.forward_s.constant += 1e-6;
    layer.input_grad_s = random_cost(rng, 1e-2);
    layer.weight_grad_s = random_cost(rng, 1e-2);
    layer.recompute_s = random_cost(rng, 1e-2);
    layer.activation_bytes = random_cost(rng, 1e9);
    layer.recomputed_bytes = random_cost(rng, 1e8);
    layer.static_bytes = random_cost(rng, 1e9);
    layer.boundary_bytes = random_cost(rng, 1e8);
    profile.layers.push_back(layer);
  }
  return profile;
}

/// The rules of docs/formats/profile.md, straight from their words, for one layer.
void expect_rules(const Profile& profile, const std::vector<LayerCost>& costs, std::size_t i) {
  bool trainable_before = false;
  for (std::size_t j = 0; j < i; ++j) trainable_before |= profile.layers[j].trainable;
  const LayerProfile& layer = profile.layers[i];
  const Load& load = profile.load;
  const bool runs_backward = layer.trainable || trainable_before;
  EXPECT_DOUBLE_EQ(costs[i].forward_s, layer.forward_s.at(load));
  EXPECT_DOUBLE_EQ(costs[i].input_grad_s, trainable_before ? layer.input_grad_s.at(load) : 0);
  EXPECT_DOUBLE_EQ(costs[i].weight_grad_s, layer.trainable ? layer.weight_grad_s.at(load) : 0);
  EXPECT_DOUBLE_EQ(costs[i].recompute_s, runs_backward ? layer.recompute_s.at(load) : 0);
  EXPECT_NEAR(static_cast<double>(costs[i].activation_bytes),
              runs_backward ? layer.activation_bytes.at(load) : 0, 0.5);
  EXPECT_NEAR(static_cast<double>(costs[i].recomputed_bytes),
              runs_backward ? layer.recomputed_bytes.at(load) : 0, 0.5);
  EXPECT_NEAR(static_cast<double>(costs[i].static_bytes), layer.static_bytes.at(load), 0.5);
  EXPECT_EQ(costs[i].can_recompute, costs[i].recomputed_bytes < costs[i].activation_bytes);
}

TEST(ProfileProperty, EvaluationFollowsTheRulesOfFrozenLayers) {
  PhiloxRng rng(1, RngStream::kTest);
  for (int round = 0; round < 300; ++round) {
    const Profile profile = random_profile(rng);
    const auto costs = evaluate(profile, profile.load);
    const auto times = layer_times(profile);
    ASSERT_EQ(costs.size(), profile.layers.size());
    for (std::size_t i = 0; i < costs.size(); ++i) {
      expect_rules(profile, costs, i);
      EXPECT_NEAR(times[i].backward_s.at(profile.load), costs[i].backward_s(), 1e-12);
      EXPECT_DOUBLE_EQ(times[i].recompute_s.at(profile.load), costs[i].recompute_s);
    }
  }
}

TEST(ProfileProperty, FilesGiveBackEveryBit) {
  const std::string path = ::testing::TempDir() + "omnibal_profile_property.json";
  PhiloxRng rng(2, RngStream::kTest);
  for (int round = 0; round < 50; ++round) {
    const Profile profile = random_profile(rng);
    ASSERT_TRUE(write_profile(profile, path).ok());
    const Result<Profile> back = read_profile(path);
    ASSERT_TRUE(back.ok()) << to_text(back.error());
    ASSERT_EQ(back->layers.size(), profile.layers.size());
    EXPECT_EQ(back->load.tokens, profile.load.tokens);
    for (std::size_t i = 0; i < profile.layers.size(); ++i) {
      const LayerProfile& a = profile.layers[i];
      const LayerProfile& b = back->layers[i];
      EXPECT_EQ(a.kind, b.kind);
      EXPECT_EQ(a.trainable, b.trainable);
      EXPECT_EQ(a.parameters, b.parameters);
      EXPECT_EQ(a.forward_s, b.forward_s);
      EXPECT_EQ(a.input_grad_s, b.input_grad_s);
      EXPECT_EQ(a.weight_grad_s, b.weight_grad_s);
      EXPECT_EQ(a.recompute_s, b.recompute_s);
      EXPECT_EQ(a.activation_bytes, b.activation_bytes);
      EXPECT_EQ(a.recomputed_bytes, b.recomputed_bytes);
      EXPECT_EQ(a.static_bytes, b.static_bytes);
      EXPECT_EQ(a.boundary_bytes, b.boundary_bytes);
    }
  }
  std::remove(path.c_str());
}

/// Cut short or with a byte changed: an error or a profile, never a crash.
TEST(ProfileProperty, DamagedFilesAreRefusedOrRead) {
  const std::string path = ::testing::TempDir() + "omnibal_profile_damaged.json";
  PhiloxRng rng(3, RngStream::kTest);
  const Profile profile = random_profile(rng);
  ASSERT_TRUE(write_profile(profile, path).ok());
  std::string text;
  {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    ASSERT_NE(file, nullptr);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    std::fclose(file);
  }
  std::remove(path.c_str());
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = text;
    const auto size = static_cast<std::uint32_t>(text.size());
    if (round % 2 == 0) {
      damaged.resize(rng.below(size - 2));
      EXPECT_FALSE(parse_profile(damaged, "p.json").ok());
    } else {
      damaged[rng.below(size)] = static_cast<char>(rng.below(256));
    }
    if (!parse_profile(damaged, "p.json").ok()) ++refused;
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace omnibal::cost
