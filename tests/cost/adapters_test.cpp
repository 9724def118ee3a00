// SPDX-License-Identifier: Apache-2.0
//
// Frozen layers and adapters against numbers worked out from the operations of a block, by hand.
#include <gmock/gmock.h>

#include "cost/internvl_chat_26b.h"
#include "omnibal/cost/analytic.h"

namespace omnibal::cost {
namespace {

// InternLM2-20B: width, query heads, key-value heads, MLP, all on one device.
constexpr double kD = 6144, kQ = 6144, kK = 1024, kG = 16384;
// InternViT-6B: width, MLP, tokens of a tile.
constexpr double kH = 3200, kF = 12800, kS = 1025;

struct Part {
  std::string name;
  std::vector<std::string> targets;
};

Profile profile_of(const std::vector<std::string>& frozen, const std::vector<Part>& adapted,
                   std::int64_t rank = 16, const AnalyticOptions& options = {}) {
  Result<model::ModelSpec> model = model::load_model("internvl-chat-1.5-26b");
  for (const std::string& part : frozen) EXPECT_TRUE(model::freeze(*model, part).ok());
  for (const Part& part : adapted) {
    EXPECT_TRUE(model::add_adapters(*model, part.name, rank, part.targets).ok());
  }
  const Result<cluster::ClusterSpec> cluster = cluster::load_cluster("a100-80g");
  Result<Profile> profile = analytic_profile(*model, *cluster, options);
  EXPECT_TRUE(profile.ok());
  return *std::move(profile);
}

double flops(const LinearCost& seconds) { return seconds.per_token * kRate; }

TEST(FrozenBlock, KeepsWhatInputGradientsNeedAndNothingForItsWeights) {
  const Profile profile = profile_of({"llm"}, {});
  const LayerProfile& block = profile.layers[kLlm];
  // Kept: inputs of both norms, q, k, v and context, gate and up. Not: the norms' outputs, the
  // product of gate and up.
  EXPECT_EQ(block.activation_bytes.per_token, 2 * (2 * kD + 2 * kQ + 2 * kK + 2 * kG));
  const double matrices = 2 * (2 * kD * kQ + 2 * kD * kK + 3 * kD * kG);
  EXPECT_NEAR(flops(block.input_grad_s), matrices, 1);
  EXPECT_NEAR(block.input_grad_s.per_token_pair * kRate, 2 * 2 * kQ, 1e-6);
  EXPECT_TRUE(block.weight_grad_s.is_zero());
  // Head: fp32 logits and the input of its norm.
  EXPECT_EQ(profile.layers[kHead].activation_bytes.per_token, 4 * 92544.0 + 2 * kD);
}

TEST(FrozenBlock, OfAVisionTowerBehindNothingKeepsNothing) {
  const Profile profile = profile_of({"vision"}, {});
  EXPECT_TRUE(profile.layers[3].activation_bytes.is_zero());
  EXPECT_TRUE(profile.layers[3].recompute_choices.empty());
  // All of it trains behind the projector, as without the frozen tower.
  EXPECT_EQ(profile.layers[kLlm].activation_bytes,
            profile_of({}, {}).layers[kLlm].activation_bytes);
}

TEST(FrozenProjector, BehindATrainedTowerKeepsInputsOfNormAndGelu) {
  const Profile profile = profile_of({"projector"}, {});
  // 256 tokens: norm's input, GELU's input, the result.
  EXPECT_EQ(profile.layers[kProjector].activation_bytes.per_vision_unit,
            256 * 2.0 * (4 * kH + kD + kD));
  EXPECT_EQ(profile.layers[kProjector].input_grad_s, profile.layers[kProjector].forward_s);
}

TEST(LoraBlock, OfEveryLinearLayer) {
  const double r = 16;
  const Profile profile = profile_of({}, {{"llm", {"all"}}});
  const LayerProfile& block = profile.layers[kLlm];
  const double base = 2 * (2 * kD * kQ + 2 * kD * kK + 3 * kD * kG);
  const double adapters =
      2 * r * ((kD + kQ) + 2 * (kD + kK) + (kQ + kD) + 2 * (kD + kG) + (kG + kD));
  EXPECT_NEAR(flops(block.forward_s), base + adapters, 1);
  EXPECT_NEAR(flops(block.input_grad_s), base + adapters, 1);
  EXPECT_NEAR(flops(block.weight_grad_s), adapters, 1);
  EXPECT_NEAR(block.input_grad_s.per_token_pair * kRate, 2 * 2 * kQ, 1e-6);
  EXPECT_EQ(block.weight_grad_s.per_token_pair, 0);
  // All that full training keeps, and seven tensors of the rank's width.
  EXPECT_EQ(block.activation_bytes.per_token,
            profile_of({}, {}).layers[kLlm].activation_bytes.per_token + 7 * 2 * r);
  EXPECT_EQ(block.recompute_s, block.forward_s);
}

TEST(LoraBlock, HoldsItsWeightsInBf16AndTrainsTheAdapters) {
  const double r = 16;
  const Profile plain = profile_of({"llm"}, {}, 0, {.dp = 4});
  const Profile profile = profile_of({}, {{"llm", {"q", "v"}}}, 16, {.dp = 4});
  const double adapters = r * ((kD + kQ) + (kD + kK));
  EXPECT_NEAR(profile.layers[kLlm].static_bytes.constant,
              plain.layers[kLlm].static_bytes.constant + (6 + 12.0 / 4) * adapters, 1);
  EXPECT_EQ(profile.layers[kLlm].parameters, plain.layers[kLlm].parameters + adapters);
  EXPECT_EQ(profile.layers[kHead].static_bytes, plain.layers[kHead].static_bytes);
}

TEST(LoraBlock, KeepsTheInputsOfAdaptedLayersAlone) {
  const double r = 16;
  const double frozen = profile_of({"llm"}, {}).layers[kLlm].activation_bytes.per_token;
  const auto kept = [&](const std::vector<std::string>& targets) {
    return profile_of({}, {{"llm", targets}}).layers[kLlm].activation_bytes.per_token - frozen;
  };
  EXPECT_EQ(kept({"q"}), 2 * kD + 2 * r);
  EXPECT_EQ(kept({"q", "k", "v"}), 2 * kD + 3 * 2 * r);  // one input for all three
  EXPECT_EQ(kept({"qkv"}), 2 * kD + 2 * r);
  EXPECT_EQ(kept({"o"}), 2 * r);  // its input is attention's output
  EXPECT_EQ(kept({"up"}), 2 * kD + 2 * r);
  EXPECT_EQ(kept({"down"}), 2 * kG + 2 * r);
}

TEST(LoraBlock, OfADeviceOfATensorGroup) {
  const double r = 16;
  const Profile whole = profile_of({"llm"}, {}, 0, {.tp = 4});
  const Profile profile = profile_of({}, {{"llm", {"q", "down"}}}, 16, {.tp = 4});
  // q splits by its output, down by its input; the other factor is whole on every device.
  const double q = r * (kD + kQ / 4);
  const double down = r * (kG / 4 + kD);
  EXPECT_NEAR(flops(profile.layers[kLlm].forward_s) - flops(whole.layers[kLlm].forward_s),
              2 * (q + down), 1);
  EXPECT_NEAR(profile.layers[kLlm].static_bytes.constant - whole.layers[kLlm].static_bytes.constant,
              18 * (q + down), 1);
  EXPECT_EQ(profile.layers[kLlm].activation_bytes.per_token -
                whole.layers[kLlm].activation_bytes.per_token,
            2 * kD / 4 + 2 * kG / 4 + 2 * 2 * r);
}

// Nothing trains before the first block: gradients end at its first adapter.
TEST(FirstLoraBlock, BehindNothingComputesGradientsDownToItsFirstAdapter) {
  const double r = 16;
  const Profile profile = profile_of({"vision", "projector"}, {{"llm", {"o"}}});
  const auto costs = evaluate(profile, {0, 1, 0});
  EXPECT_EQ(costs[kProjector].backward_s(), 0);
  EXPECT_EQ(costs[kEmbedding].backward_s(), 0);
  const LayerProfile& first = profile.layers[kLlm];
  EXPECT_TRUE(first.input_grad_s.is_zero());
  const double adapter = 2 * r * (kQ + kD);
  const double to_adapter = 2 * r * kD;  // through B
  const double mlp = 2 * 3 * kD * kG;
  EXPECT_NEAR(flops(first.weight_grad_s), adapter + to_adapter + mlp, 1);
  // Attention's output, which o's adapter needs; the MLP's norm, gate and up.
  EXPECT_EQ(first.activation_bytes.per_token, 2 * kQ + 2 * r + 2 * kD + 4 * kG);
  // The next block is as any other.
  EXPECT_GT(profile.layers[kLlm + 1].input_grad_s.per_token, first.input_grad_s.per_token);
  EXPECT_EQ(profile.layers[kLlm + 1].activation_bytes.per_token,
            2 * (2 * kD + 2 * kQ + 2 * kK + 2 * kG) + 2 * r);
}

TEST(FirstLoraBlock, OfTheVisionTowerNeedsNoGradientOfThePatches) {
  const double r = 16;
  const Profile profile = profile_of({}, {{"vision", {"qkv"}}});
  const double scores = 4 * kS * kS * kH;
  const double inner = 2 * scores + kS * (2 * kH * kH + 4 * kH * kF) + kS * 2 * r * 3 * kH;
  const double adapter = kS * 2 * r * (kH + 3 * kH);
  EXPECT_NEAR(profile.layers[0].weight_grad_s.per_vision_unit * kRate, inner + adapter, 1e3);
  EXPECT_TRUE(profile.layers[0].input_grad_s.is_zero());
  EXPECT_GT(profile.layers[1].input_grad_s.per_vision_unit * kRate, inner);
}

TEST(PartialRecomputation, OfAnLlmBlock) {
  const Profile profile = profile_of({}, {});
  const auto& choices = profile.layers[kLlm].recompute_choices;
  ASSERT_EQ(choices.size(), 4U);
  EXPECT_EQ(choices[0].name, "attention");
  EXPECT_NEAR(flops(choices[0].recompute_s), 2 * (kD * kQ + 2 * kD * kK), 1);
  EXPECT_NEAR(choices[0].recompute_s.per_token_pair * kRate, 2 * kQ, 1e-6);
  EXPECT_EQ(choices[0].kept_bytes.per_token, 2 * (kD + 2 * kD + 3 * kG));
  EXPECT_EQ(choices[0].transient_bytes.per_token, 2 * (kD + 2 * kQ + 2 * kK));
  EXPECT_EQ(choices[1].name, "mlp");
  EXPECT_NEAR(flops(choices[1].recompute_s), 2 * 2 * kD * kG, 1);
  EXPECT_EQ(choices[1].kept_bytes.per_token, 2 * (2 * kD + 2 * kQ + 2 * kK + kD));
  EXPECT_EQ(choices[1].transient_bytes.per_token, 2 * (kD + 3 * kG));
  EXPECT_EQ(choices[2].name, "attention+mlp");
  EXPECT_EQ(choices[2].kept_bytes.per_token, 2 * 2 * kD);
  EXPECT_EQ(choices[2].transient_bytes.per_token, 2 * (kD + 3 * kG));
  EXPECT_TRUE(profile.layers[kHead].recompute_choices.empty());
}

TEST(PartialRecomputation, OfAFrozenBlockSparesWhatItKeeps) {
  const Profile profile = profile_of({"llm"}, {});
  const auto& choices = profile.layers[kLlm].recompute_choices;
  EXPECT_EQ(choices[0].transient_bytes.per_token, 2 * (2 * kQ + 2 * kK));
  EXPECT_EQ(choices[1].transient_bytes.per_token, 2 * 2 * kG);
}

TEST(Offload, WaitsForWhatTransfersTakeLongerThanTheLayer) {
  const Profile profile = profile_of({}, {});
  const LayerProfile& block = profile.layers[3];
  const RecomputeChoice& offload = block.recompute_choices.back();
  EXPECT_EQ(offload.name, "offload");
  const double transfer = block.activation_bytes.per_vision_unit / 25e9;
  const double forward = block.forward_s.per_vision_unit;
  EXPECT_NEAR(offload.recompute_s.per_vision_unit,
              std::max(0.0, transfer - forward) + std::max(0.0, transfer - 2 * forward), 1e-12);
  EXPECT_TRUE(offload.kept_bytes.is_zero());
  EXPECT_EQ(offload.transient_bytes, 2 * block.activation_bytes);
}

TEST(Offload, IsThereWhereTheLinkToTheHostAndItsMemoryAreKnown) {
  const auto model = model::load_model("internvl-chat-1.5-26b");
  const auto last_choice = [&](const cluster::ClusterSpec& cluster) {
    const auto profile = analytic_profile(*model, cluster, {});
    return profile->layers[3].recompute_choices.back().name;
  };
  cluster::ClusterSpec cluster = *cluster::load_cluster("a100-80g");
  EXPECT_EQ(last_choice(cluster), "offload");
  cluster.host_memory_bytes = 0;
  EXPECT_EQ(last_choice(cluster), "attention+mlp");
  cluster = *cluster::load_cluster("a100-80g");
  cluster.host_bytes_per_s = 0;
  EXPECT_EQ(last_choice(cluster), "attention+mlp");
}

}  // namespace
}  // namespace omnibal::cost
