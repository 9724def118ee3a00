// SPDX-License-Identifier: Apache-2.0
#include "omnibal/recompute/bar.h"

#include <gmock/gmock.h>

#include <numeric>

namespace omnibal::recompute {
namespace {

using testing::HasSubstr;

struct Layers {
  std::vector<cost::LayerCost> costs;
  std::vector<BarLayer> bar;

  void add(LayerClass layer_class, double recompute_s, std::int64_t activation,
           std::int64_t recomputed, std::int64_t fixed = 0) {
    cost::LayerCost cost;
    cost.recompute_s = recompute_s;
    cost.activation_bytes = activation;
    cost.recomputed_bytes = recomputed;
    cost.static_bytes = fixed;
    cost.can_recompute = recomputed < activation;
    costs.push_back(cost);
    bar.push_back({layer_class, recompute_s, cost.can_recompute, activation});
  }
};

/// Three ViT layers (1 s saves 4 x 9 bytes) and three LLM layers (2 s save 4 x 20), one stage,
/// four in flight: 4 x (30 + 75) = 420 bytes without recomputation.
Layers small_model() {
  Layers layers;
  for (int i = 0; i < 3; ++i) layers.add(LayerClass::kVision, 1.0, 10, 1);
  for (int i = 0; i < 3; ++i) layers.add(LayerClass::kLlm, 2.0, 25, 5);
  return layers;
}

Result<RecomputeMask> bar_at(const Layers& layers, std::int64_t limit,
                             const std::vector<std::int32_t>& cuts = {},
                             const std::vector<std::int64_t>& in_flight = {4}) {
  return bar({layers.bar, cuts, limit}, modelled_memory(layers.costs, cuts, in_flight));
}

TEST(Bar, RecomputesNothingIfAllFits) {
  EXPECT_EQ(*bar_at(small_model(), 420), RecomputeMask(6, false));
}

TEST(Bar, TakesTheCheapestLayersThatFit) {
  // One ViT layer: 420 - 36 + 10 = 394.
  EXPECT_EQ(*bar_at(small_model(), 394), (RecomputeMask{true, false, false, false, false, false}));
  // Two ViT layers give 358 in 2 s, one LLM layer 420 - 80 + 25 = 365 in 2 s: the tie goes to the
  // fewer layers while both fit.
  EXPECT_EQ(*bar_at(small_model(), 365), (RecomputeMask{false, false, false, true, false, false}));
  EXPECT_EQ(*bar_at(small_model(), 364), (RecomputeMask{true, true, false, false, false, false}));
}

TEST(Bar, CountsTheTransient) {
  // Everything recomputed: 4 x (3 + 15) + 25 = 97; without the transient it would be 72.
  EXPECT_EQ(*bar_at(small_model(), 97), RecomputeMask(6, true));
  EXPECT_FALSE(bar_at(small_model(), 96).ok());
}

TEST(Bar, NamesTheStageAndTheMissingBytes) {
  Layers layers = small_model();
  layers.costs[3].static_bytes = 1000;
  const Result<RecomputeMask> mask = bar_at(layers, 200, {3}, {4, 3});
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.error().code, ErrorCode::kMemoryInfeasible);
  // Stage 1: 1000 + 3 x 15 + 25.
  EXPECT_EQ(std::get<std::int64_t>(mask.error().value), 1070);
  EXPECT_EQ(std::get<std::int64_t>(mask.error().limit), 200);
  EXPECT_THAT(mask.error().message, HasSubstr("stage 1"));
  EXPECT_THAT(mask.error().message, HasSubstr("870 bytes"));
  EXPECT_THAT(mask.error().hint, HasSubstr("--memory to 1070"));
  EXPECT_TRUE(bar_at(layers, 1070, {3}, {4, 3}).ok());
}

TEST(Bar, LeavesLayersThatGainNothing) {
  Layers layers = small_model();
  layers.add(LayerClass::kOther, 9.0, 50, 50);
  layers.add(LayerClass::kLlm, 2.0, 25, 25);
  const RecomputeMask mask = *bar_at(layers, 97 + 4 * 75);
  EXPECT_EQ(mask, (RecomputeMask{true, true, true, true, true, true, false, false}));
  EXPECT_EQ(recompute_full(layers.bar), mask);
}

TEST(Bar, TurnsToOtherLayersOnlyWhereNothingElseFits) {
  Layers layers = small_model();
  layers.add(LayerClass::kOther, 9.0, 50, 10);
  EXPECT_EQ(*bar_at(layers, 97 + 4 * 50),
            (RecomputeMask{true, true, true, true, true, true, false}));
  // 4 x (3 + 15 + 10) + 50.
  EXPECT_EQ(*bar_at(layers, 162), RecomputeMask(7, true));
  EXPECT_FALSE(bar_at(layers, 161).ok());
}

TEST(Bar, EarlyStagesOfEqualLayersRecomputeMore) {
  Layers layers;
  for (int i = 0; i < 24; ++i) layers.add(LayerClass::kLlm, 1.0, 100, 10);
  const std::vector<std::int32_t> cuts{6, 12, 18};
  std::size_t before = 0;
  for (const std::int64_t limit : {2400, 1900, 1400, 900, 600, 400}) {
    const Result<RecomputeMask> mask = bar_at(layers, limit, cuts, {4, 3, 2, 1});
    ASSERT_TRUE(mask.ok()) << limit;
    std::array<std::size_t, 4> recomputed{};
    for (std::size_t i = 0; i < mask->size(); ++i) recomputed[i / 6] += (*mask)[i] ? 1 : 0;
    for (std::size_t stage = 1; stage < 4; ++stage) {
      EXPECT_LE(recomputed[stage], recomputed[stage - 1]) << limit;
    }
    const std::size_t total = std::accumulate(recomputed.begin(), recomputed.end(), std::size_t{0});
    EXPECT_GE(total, before);
    before = total;
  }
  EXPECT_GT(before, 0U);
}

TEST(Bar, AsksTheProbeAndNotTheModel) {
  // A probe that is no model of these layers: whatever it says decides.
  const Layers layers = small_model();
  const MemoryProbe probe = [](StageIndex, const RecomputeMask& mask) {
    return std::int64_t{mask[0] && mask[1] && mask[3] ? 5 : 500};
  };
  const std::vector<std::int32_t> no_cuts;
  EXPECT_EQ(*bar({layers.bar, no_cuts, 100}, probe),
            (RecomputeMask{true, true, false, true, false, false}));
}

TEST(CheckMemory, NamesTheStageThatDoesNotFit) {
  const Layers layers = small_model();
  const std::vector<std::int32_t> cuts{3};
  const MemoryProbe probe = modelled_memory(layers.costs, cuts, {2, 1});
  const BarProblem problem{layers.bar, cuts, 75};
  EXPECT_TRUE(check_memory(problem, recompute_none(6), probe).ok());
  const Status status = check_memory({layers.bar, cuts, 74}, recompute_none(6), probe);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("stage 1"));
  EXPECT_THAT(status.error().message, HasSubstr("1 bytes"));
}

TEST(BarLayers, ClassesFollowTheKind) {
  cost::Profile profile;
  for (const auto& kind :
       {std::optional(model::LayerKind::kVisionBlock), std::optional(model::LayerKind::kProjector),
        std::optional(model::LayerKind::kLlmBlock), std::optional<model::LayerKind>()}) {
    profile.layers.emplace_back().kind = kind;
  }
  std::vector<cost::LayerCost> costs(4);
  costs[1].can_recompute = false;
  costs[2].recompute_s = 3;
  costs[2].activation_bytes = 7;
  const std::vector<BarLayer> layers = bar_layers(profile, costs);
  EXPECT_EQ(layers[0].layer_class, LayerClass::kVision);
  EXPECT_EQ(layers[1].layer_class, LayerClass::kOther);
  EXPECT_FALSE(layers[1].can_recompute);
  EXPECT_EQ(layers[2].layer_class, LayerClass::kLlm);
  EXPECT_EQ(layers[2].recompute_s, 3);
  EXPECT_EQ(layers[2].activation_bytes, 7);
  EXPECT_EQ(layers[3].layer_class, LayerClass::kLlm);
}

}  // namespace
}  // namespace omnibal::recompute
