// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/zero3.h"

#include <gmock/gmock.h>

namespace omnibal::simulate {
namespace {

using Loads = std::vector<std::vector<cost::Load>>;

/// Layers of one second a token forward, two backward, one to recompute, and as many parameters as
/// said.
cost::Profile token_layers(const std::vector<double>& parameters) {
  cost::Profile profile;
  for (const double count : parameters) {
    cost::LayerProfile& layer = profile.layers.emplace_back();
    layer.parameters = count;
    layer.forward_s = layer.input_grad_s = layer.weight_grad_s = layer.recompute_s = {0, 0, 1, 0};
    layer.activation_bytes = {0, 0, 10, 0};
    layer.recomputed_bytes = {0, 0, 1, 0};
  }
  return profile;
}

/// Two devices a node, one byte a second and no latency: a tensor of b bytes takes b / 2 to gather
/// by two ranks.
cluster::ClusterSpec slow_cluster() {
  cluster::ClusterSpec cluster;
  cluster.devices_per_node = 2;
  cluster.memory_bytes_per_s = 60;
  cluster.inner = {1, 0};
  return cluster;
}

cost::Load tokens(double count) { return {0, count, 0}; }

double seconds(const Zero3Case& zero3, const Loads& loads) {
  return makespan(*compile_zero3(zero3), loads);
}

TEST(Zero3, OneRankComputesLayerAfterLayer) {
  const cost::Profile profile = token_layers({1, 1, 1});
  // Forward three, backward 1 + 2 + 2 seconds a token: the first layer has no input gradient.
  EXPECT_DOUBLE_EQ(seconds({profile, {}}, {{tokens(1), tokens(2)}}), 3 * 8);
  // Recomputation of two layers.
  const recompute::RecomputeMask mask{true, false, true};
  EXPECT_DOUBLE_EQ(seconds({profile, mask}, {{tokens(1), tokens(2)}}), 3 * 10);
}

TEST(Zero3, WithoutPrefetchEveryLayerWaitsForTheSlowestRank) {
  const cost::Profile profile = token_layers({1, 1});
  const Loads loads{{tokens(5), tokens(1)}, {tokens(1), tokens(2)}};
  // Weights are asked for where the layer changes: forward; forward and backward of the last;
  // backward of the first and its next forward; and so on.
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, nullptr, 1, 0}, loads), 5 + 15 + 6 + 6 + 2);
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, nullptr, 1, 0, Zero3Waiting::kOnceAStep}, loads),
                   6 * 5);
}

TEST(Zero3, AheadOfThePrefetchNoRankRuns) {
  // Forward of two layers, the second gathered while the first runs: the fast rank runs its first
  // layer (1 s) and its second, whose weights are asked for by all at 0, then waits.
  cost::Profile profile = token_layers({1, 1, 1});
  for (cost::LayerProfile& layer : profile.layers) layer.trainable = false;
  const Loads loads{{tokens(1)}, {tokens(10)}};
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2}, loads), 30);
  // Three layers a micro-batch: rank 0 is quick first, rank 1 later. With one layer ahead rank 0
  // waits for rank 1's second layer to start (at 10) before its own third.
  const Loads crossing{{tokens(1), tokens(10)}, {tokens(10), tokens(1)}};
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, nullptr, 1, 0}, crossing), 60);
  // Rank 0: layers at 0, 1, 10, then the next micro-batch's at 20, 30, 40; ends at 50.
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, nullptr, 1, 1}, crossing), 50);
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, nullptr, 1, 1, Zero3Waiting::kOnceAStep}, crossing),
                   33);
}

TEST(Zero3, GathersAndReducesOverlapWithComputation) {
  const cost::Profile profile = token_layers({4, 4});
  const cluster::ClusterSpec cluster = slow_cluster();
  const Loads loads{{tokens(5)}, {tokens(5)}};
  // Weights and gradients of a layer are 8 bytes: 4 s a collective. With one layer ahead: first
  // weights until 4; forwards until 14; the last layer's weights are still there, backward until
  // 24, the first layer's, asked for at 14, until 18; its backward until 29, while the last one's
  // gradients are reduced; its own gradients until 33.
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, &cluster, 1, 1}, loads), 33);
  // Without: 4 + 5, 4 + 5, 10, then weights of the first wait behind gradients: 8, 5, 4.
  EXPECT_DOUBLE_EQ(seconds({profile, {}, 2, &cluster, 1, 0}, loads), 18 + 10 + 8 + 5 + 4);
}

TEST(Zero3, FrozenLayersHaveNoGradients) {
  cost::Profile profile = token_layers({4, 4, 4});
  profile.layers[0].trainable = profile.layers[2].trainable = false;
  const Zero3Program program = *compile_zero3({profile, {}});
  ASSERT_EQ(program.operations.size(), 3U + 2U);  // the first has no backward
  EXPECT_EQ(program.operations[3].layer, 2);
  EXPECT_TRUE(program.operations[3].gathers);
  EXPECT_FALSE(program.operations[3].reduces);
  EXPECT_EQ(program.operations[3].seconds.per_token, 1);  // input gradient
  EXPECT_TRUE(program.operations[4].reduces);
  EXPECT_EQ(program.operations[4].seconds.per_token, 1);  // weight gradient
}

TEST(Zero3, SaysWhereTimeGoes) {
  const cost::Profile profile = token_layers({4, 4});
  const cluster::ClusterSpec cluster = slow_cluster();
  const recompute::RecomputeMask mask{true, false};
  const Zero3Case zero3{
      .profile = profile, .recompute = mask, .num_ranks = 2, .cluster = &cluster, .update = true};
  const Zero3Step step = *simulate_zero3(zero3, Loads{{tokens(1)}, {tokens(3)}});
  const Breakdown& parts = step.breakdown;
  EXPECT_DOUBLE_EQ(parts.recompute_s, 4);
  EXPECT_DOUBLE_EQ(step.optimizer_s, 2 * 30 * 4 / 60.0);  // four of eight parameters each
  EXPECT_DOUBLE_EQ(parts.useful_s, 4 * 5 + step.optimizer_s);
  EXPECT_DOUBLE_EQ(step.ranks[1].busy_s, 3 * 6 + 2);
  EXPECT_GT(parts.communication_s, 0);
  EXPECT_GT(parts.rank_imbalance_s, 0);
  EXPECT_NEAR(parts.useful_s + parts.recompute_s + parts.rank_imbalance_s + parts.communication_s +
                  parts.bubble_s + parts.stage_imbalance_s,
              2 * step.makespan_s, 1e-9);
  EXPECT_NEAR(parts.bubble_s, 0, 1e-9);
}

TEST(Zero3, HoldsShardsGatheredLayersAndActivations) {
  const cost::Profile profile = token_layers({100, 200, 400});
  Zero3Case zero3{.profile = profile, .recompute = {}, .num_ranks = 2};
  const auto peak = [&](const Zero3Case& of) {
    return zero3_peak_bytes(of, *compile_zero3(of), tokens(1));
  };
  const std::int64_t states = 18 * 700 / 2;
  // Backward of the last layer: it and the one before gathered, its gradients, all activations.
  EXPECT_EQ(peak(zero3), states + 2 * 600 + 2 * 400 + 30);
  zero3.prefetch = 0;
  EXPECT_EQ(peak(zero3), states + 2 * 400 + 2 * 400 + 30);
  const recompute::RecomputeMask mask(3, true);
  const Zero3Case recomputing{.profile = profile, .recompute = mask, .num_ranks = 2, .prefetch = 0};
  EXPECT_EQ(peak(recomputing), states + 2 * 400 + 2 * 400 + 3 + 10);
}

TEST(Zero3, RefusesWhatItCannotTime) {
  const cost::Profile profile = token_layers({1});
  const cost::Profile unknown = token_layers({0});
  EXPECT_EQ(compile_zero3({unknown, {}}).error().where.key, "parameters");
  EXPECT_EQ(compile_zero3({profile, {}, 0}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(compile_zero3({.profile = profile, .recompute = {}, .update = true}).error().where.key,
            "memory_bytes_per_s");
  EXPECT_EQ(simulate_zero3({profile, {}, 2}, Loads{{tokens(1)}}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(simulate_zero3({profile, {}, 2}, Loads{{tokens(1)}, {}}).error().code,
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace omnibal::simulate
