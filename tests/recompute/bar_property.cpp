// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "omnibal/base/philox.h"
#include "omnibal/recompute/bar.h"

namespace omnibal::recompute {
namespace {

struct Model {
  std::vector<cost::LayerCost> costs;
  std::vector<BarLayer> layers;
};

/// Layers of two classes and others, alike within a class or every one different.
Model random_model(PhiloxRng& rng) {
  Model model;
  const bool alike = rng.below(2) == 0;
  const std::array<std::int64_t, 3> activation{1 + rng.below(20), 1 + rng.below(20),
                                               1 + rng.below(20)};
  const std::uint32_t num_layers = 1 + rng.below(10);
  for (std::uint32_t i = 0; i < num_layers; ++i) {
    const std::uint32_t layer_class = rng.below(8) == 0 ? 2 : rng.below(2);
    cost::LayerCost cost;
    cost.activation_bytes = alike ? activation[layer_class] : 1 + rng.below(30);
    cost.recomputed_bytes = alike
                                ? cost.activation_bytes / 4
                                : rng.below(static_cast<std::uint32_t>(cost.activation_bytes) + 1);
    cost.static_bytes = rng.below(5);
    cost.recompute_s = alike ? 1.0 + layer_class : 1 + rng.below(4);
    cost.can_recompute = cost.recomputed_bytes < cost.activation_bytes && rng.below(10) > 0;
    model.costs.push_back(cost);
    model.layers.push_back({static_cast<LayerClass>(layer_class), cost.recompute_s,
                            cost.can_recompute, cost.activation_bytes});
  }
  return model;
}

/// The first `count` layers of a class that can recompute, or nothing if there are fewer.
bool set_first(const Model& model, LayerClass layer_class, std::size_t count, RecomputeMask& mask) {
  for (std::size_t i = 0; i < model.layers.size() && count > 0; ++i) {
    if (model.layers[i].layer_class != layer_class || !model.layers[i].can_recompute) continue;
    mask[i] = true;
    --count;
  }
  return count == 0;
}

using Key = std::tuple<double, std::size_t, std::size_t>;

/// Every (k_v, k_l), with the other layers recomputing or not: least time, fewest layers, fewest
/// ViT layers.
std::optional<RecomputeMask> brute_force(const Model& model, bool others, std::int64_t limit,
                                         const MemoryProbe& probe) {
  std::optional<std::pair<Key, RecomputeMask>> best;
  for (std::size_t v = 0; v <= model.layers.size(); ++v) {
    for (std::size_t l = 0; l <= model.layers.size(); ++l) {
      RecomputeMask mask = recompute_none(model.layers.size());
      if (!set_first(model, LayerClass::kVision, v, mask)) continue;
      if (!set_first(model, LayerClass::kLlm, l, mask)) continue;
      double time = 0;
      for (std::size_t i = 0; i < mask.size(); ++i) {
        if (mask[i]) time += model.layers[i].recompute_s;
      }
      for (std::size_t i = 0; others && i < mask.size(); ++i) {
        const BarLayer& layer = model.layers[i];
        if (layer.layer_class == LayerClass::kOther) mask[i] = layer.can_recompute;
      }
      if (probe(StageIndex{0}, mask) > limit) continue;
      const Key key{time, v + l, v};
      if (!best || key < best->first) best = {key, mask};
    }
  }
  if (!best) return std::nullopt;
  return best->second;
}

TEST(BarProperty, IsTheLeastTimeOfAllCounts) {
  PhiloxRng rng(21, RngStream::kTest);
  int infeasible = 0;
  for (int i = 0; i < 3000; ++i) {
    const Model model = random_model(rng);
    const std::vector<std::int32_t> no_cuts;
    const MemoryProbe probe = modelled_memory(model.costs, no_cuts, {1 + rng.below(4)});
    const std::int64_t none = probe(StageIndex{0}, recompute_none(model.layers.size()));
    const std::int64_t limit = 1 + rng.below(static_cast<std::uint32_t>(none) + 3);
    const Result<RecomputeMask> mask = bar({model.layers, no_cuts, limit}, probe);
    auto expected = brute_force(model, false, limit, probe);
    if (!expected) expected = brute_force(model, true, limit, probe);
    ASSERT_EQ(mask.ok(), expected.has_value());
    if (mask.ok()) {
      EXPECT_EQ(*mask, *expected);
    }
    infeasible += mask.ok() ? 0 : 1;
  }
  EXPECT_GT(infeasible, 100);
  EXPECT_LT(infeasible, 2900);
}

TEST(BarProperty, TheMissingBytesAreExactlyWhatHelps) {
  PhiloxRng rng(22, RngStream::kTest);
  for (int i = 0; i < 500; ++i) {
    const Model model = random_model(rng);
    std::vector<std::int32_t> cuts;
    if (model.layers.size() > 1) cuts.push_back(1);
    const MemoryProbe probe = modelled_memory(model.costs, cuts, {2, 1});
    const Result<RecomputeMask> mask = bar({model.layers, cuts, 1}, probe);
    if (mask.ok()) continue;
    const std::int64_t needed = std::get<std::int64_t>(mask.error().value);
    EXPECT_TRUE(bar({model.layers, cuts, needed}, probe).ok());
    EXPECT_FALSE(bar({model.layers, cuts, needed - 1}, probe).ok());
  }
}

TEST(BarProperty, FewProbesAreAskedWhereLayersAreAlike) {
  Model model;
  for (int i = 0; i < 48; ++i) {
    cost::LayerCost cost;
    cost.activation_bytes = 100;
    cost.recomputed_bytes = 10;
    model.costs.push_back(cost);
    const LayerClass layer_class = i < 24 ? LayerClass::kVision : LayerClass::kLlm;
    model.layers.push_back({layer_class, i < 24 ? 1.0 : 1.5, true, 100});
  }
  const std::vector<std::int32_t> no_cuts;
  const MemoryProbe model_probe = modelled_memory(model.costs, no_cuts, {4});
  int asked = 0;
  const MemoryProbe probe = [&](StageIndex stage, const RecomputeMask& mask) {
    ++asked;
    return model_probe(stage, mask);
  };
  ASSERT_TRUE(bar({model.layers, no_cuts, 9'000}, probe).ok());
  EXPECT_LT(asked, 130);  // of 625 counts
}

}  // namespace
}  // namespace omnibal::recompute
