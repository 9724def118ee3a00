// SPDX-License-Identifier: Apache-2.0
//
// Whatever costs a profile file may hold: bytes are counted or refused, never wrapped around.
#include <gmock/gmock.h>

#include "omnibal/cost/analytic.h"

namespace omnibal::cost {
namespace {

/// The most that read_profile accepts of every byte cost.
Profile heaviest(std::size_t num_layers) {
  constexpr LinearCost kMost{1e15, 1e15, 1e15, 1e15};
  Profile profile;
  profile.load = {9, 4096, 4e6};
  profile.layers.resize(num_layers);
  for (LayerProfile& layer : profile.layers) {
    layer.name = "layer";
    layer.forward_s.constant = 1;
    layer.activation_bytes = layer.recomputed_bytes = layer.static_bytes = kMost;
    layer.boundary_bytes = kMost;
  }
  return profile;
}

TEST(Evaluate, NeverLeaves64Bits) {
  const std::vector<LayerCost> costs = evaluate(heaviest(1), kLargestLoad);
  EXPECT_EQ(costs[0].activation_bytes, kBytesLimit);
  EXPECT_EQ(costs[0].static_bytes, kBytesLimit);
  Profile negative = heaviest(1);
  EXPECT_EQ(evaluate(negative, {-1e9, -1e9, -1e18})[0].boundary_bytes, 0);
}

TEST(CheckBytes, RefusesSumsThatWouldNotFit) {
  const Status status = check_bytes(heaviest(2), {9, 4096, 4e6}, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(status.error().where.key, "layers[0]");
  EXPECT_FALSE(check_bytes(heaviest(2), kLargestLoad, 1).ok());
}

TEST(CheckBytes, CountsLayersAndMicroBatches) {
  Profile profile = heaviest(64);
  for (LayerProfile& layer : profile.layers) {
    layer.activation_bytes = {.constant = 1e12};
    layer.recomputed_bytes = layer.static_bytes = layer.boundary_bytes = {};
  }
  constexpr std::int64_t kFits = 72057;  // 64e12 x 72057 < 2^62 < 64e12 x 72058
  EXPECT_TRUE(check_bytes(profile, {}, kFits).ok());
  EXPECT_FALSE(check_bytes(profile, {}, kFits + 1).ok());
}

TEST(CheckBytes, NamesTheHeaviestLayer) {
  Profile profile = heaviest(3);
  profile.layers[1].activation_bytes.constant = 1e16;
  profile.layers[1].name = "vision.1";
  const Status status = check_bytes(profile, {}, 1 << 20);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().where.key, "layers[1]");
  EXPECT_THAT(status.error().message, testing::HasSubstr("vision.1"));
}

TEST(CheckBytes, LeavesRealModelsAlone) {
  const auto model = model::load_model("internvl-chat-1.5-26b");
  const auto cluster = cluster::load_cluster("a100-80g");
  const auto profile = analytic_profile(*model, *cluster, {.tp = 2, .dp = 8});
  EXPECT_TRUE(check_bytes(*profile, {1000, 1e6, 1e12}, 1 << 13).ok());
}

}  // namespace
}  // namespace omnibal::cost
