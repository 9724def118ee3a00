// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "omnibal/base/philox.h"
#include "omnibal/metrics/stages.h"

namespace omnibal::metrics {
namespace {

struct Example {
  std::vector<cost::LayerCost> layers;
  std::vector<std::int32_t> cuts;
  std::vector<bool> recompute;
  std::vector<std::int64_t> in_flight;
};

Example random_example(PhiloxRng& rng) {
  Example example;
  const std::uint32_t count = 1 + rng.below(10);
  for (std::uint32_t i = 0; i < count; ++i) {
    cost::LayerCost layer;
    layer.forward_s = rng.uniform();
    layer.input_grad_s = rng.uniform();
    layer.weight_grad_s = rng.uniform();
    layer.recompute_s = rng.uniform();
    layer.activation_bytes = rng.below(1000);
    layer.recomputed_bytes = rng.below(100);
    layer.static_bytes = rng.below(1000);
    layer.boundary_bytes = rng.below(1000);
    example.layers.push_back(layer);
    example.recompute.push_back(rng.below(2) == 0);
    if (i > 0 && rng.below(3) == 0) example.cuts.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t s = 0; s <= example.cuts.size(); ++s) example.in_flight.push_back(rng.below(9));
  return example;
}

std::size_t stage_of(const Example& example, std::size_t layer) {
  std::size_t stage = 0;
  for (const std::int32_t cut : example.cuts) stage += layer >= static_cast<std::size_t>(cut);
  return stage;
}

TEST(StagesProperty, EveryLayerCountsOnceInItsStage) {
  PhiloxRng rng(4, RngStream::kTest);
  for (int round = 0; round < 500; ++round) {
    const Example example = random_example(rng);
    const auto stages =
        summarize_stages(example.layers, example.cuts, example.recompute, example.in_flight);
    ASSERT_EQ(stages.size(), example.cuts.size() + 1);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      double forward = 0;
      double recompute = 0;
      std::int64_t peak = 0;
      std::int64_t transient = 0;
      for (std::size_t i = 0; i < example.layers.size(); ++i) {
        if (stage_of(example, i) != s) continue;
        const cost::LayerCost& layer = example.layers[i];
        const bool again = example.recompute[i];
        forward += layer.forward_s;
        recompute += again ? layer.recompute_s : 0;
        peak += layer.static_bytes +
                example.in_flight[s] * (again ? layer.recomputed_bytes : layer.activation_bytes);
        if (again) transient = std::max(transient, layer.activation_bytes);
      }
      EXPECT_NEAR(stages[s].forward_s, forward, 1e-12);
      EXPECT_NEAR(stages[s].recompute_s, recompute, 1e-12);
      EXPECT_EQ(stages[s].peak_bytes, peak + transient);
    }
  }
}

TEST(StagesProperty, NoPartitionBeatsItsLowerBound) {
  PhiloxRng rng(5, RngStream::kTest);
  for (int round = 0; round < 500; ++round) {
    const Example example = random_example(rng);
    const auto stages =
        summarize_stages(example.layers, example.cuts, example.recompute, example.in_flight);
    const PartitionMetrics metrics = partition_metrics(example.layers, stages);
    EXPECT_LE(metrics.lower_bound_s, metrics.bottleneck_s + 1e-12);
    EXPECT_GT(metrics.lower_bound_s, 0);
    EXPECT_GE(metrics.var_forward_ms2, 0);
  }
}

}  // namespace
}  // namespace omnibal::metrics
