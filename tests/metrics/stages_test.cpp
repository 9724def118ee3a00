// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/stages.h"

#include <gmock/gmock.h>

namespace omnibal::metrics {
namespace {

cost::LayerCost layer(double forward_s, std::int64_t activation, std::int64_t recomputed) {
  cost::LayerCost cost;
  cost.forward_s = forward_s;
  cost.input_grad_s = forward_s;
  cost.weight_grad_s = 2 * forward_s;
  cost.recompute_s = forward_s / 2;
  cost.activation_bytes = activation;
  cost.recomputed_bytes = recomputed;
  cost.static_bytes = 1000;
  cost.boundary_bytes = activation / 10;
  return cost;
}

class Stages : public ::testing::Test {
 protected:
  std::vector<cost::LayerCost> layers_{layer(2, 100, 10), layer(4, 200, 20), layer(6, 300, 30),
                                       layer(8, 400, 40), layer(10, 500, 50)};
  std::vector<std::int32_t> cuts_{2, 3};
  std::vector<std::int64_t> in_flight_{3, 2, 1};
};

TEST_F(Stages, SumTheirLayers) {
  const auto stages =
      summarize_stages(layers_, cuts_, {false, true, false, true, true}, in_flight_);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].first_layer, 0);
  EXPECT_EQ(stages[1].first_layer, 2);
  EXPECT_EQ(stages[2].first_layer, 3);
  EXPECT_EQ(stages[2].num_layers, 2);
  EXPECT_EQ(stages[0].forward_s, 6);
  EXPECT_EQ(stages[0].backward_s, 18);
  EXPECT_EQ(stages[0].recompute_s, 2);  // of its second layer
  EXPECT_EQ(stages[0].busy_s(), 26);
  EXPECT_EQ(stages[2].recompute_s, 9);
}

TEST_F(Stages, PeakIsStaticInFlightAndTransient) {
  const auto stages =
      summarize_stages(layers_, cuts_, {false, true, false, true, true}, in_flight_);
  EXPECT_EQ(stages[0].static_bytes, 2000);
  EXPECT_EQ(stages[0].kept_bytes, 100 + 20);
  EXPECT_EQ(stages[0].transient_bytes, 200);
  EXPECT_EQ(stages[0].peak_bytes, 2000 + 3 * 120 + 200);
  EXPECT_EQ(stages[1].transient_bytes, 0);  // nothing recomputes
  EXPECT_EQ(stages[1].peak_bytes, 1000 + 2 * 300);
  EXPECT_EQ(stages[2].peak_bytes, 2000 + 1 * 90 + 500);  // the larger of 400 and 500
}

TEST_F(Stages, MetricsOfAPartition) {
  const auto stages = summarize_stages(layers_, cuts_, std::vector<bool>(5, false), in_flight_);
  const PartitionMetrics metrics = partition_metrics(layers_, stages);
  EXPECT_EQ(metrics.bottleneck_s, 4 * 18);
  EXPECT_EQ(metrics.bottleneck_forward_s, 18);
  // Stages of 6, 6 and 18 s: mean 10, variance 32 s^2.
  EXPECT_NEAR(metrics.var_forward_ms2, 32e6, 1e-6);
  EXPECT_EQ(metrics.sum_comm_bytes, 20 + 30);  // behind layers 1 and 2
  EXPECT_EQ(metrics.lower_bound_s, 40);        // 4 * 30 / 3 = 40 = 4 * 10
}

TEST_F(Stages, LowerBoundIsTheHeaviestLayerOrTheMean) {
  const std::vector<std::int64_t> one{1};
  const auto whole = summarize_stages(layers_, {}, std::vector<bool>(5, false), one);
  const PartitionMetrics single = partition_metrics(layers_, whole);
  EXPECT_EQ(single.lower_bound_s, 120);
  EXPECT_EQ(single.bottleneck_s, 120);
  EXPECT_EQ(single.sum_comm_bytes, 0);
  EXPECT_EQ(single.var_forward_ms2, 0);
  const std::vector<std::int32_t> all{1, 2, 3, 4};
  const std::vector<std::int64_t> flights{5, 4, 3, 2, 1};
  const auto split = summarize_stages(layers_, all, std::vector<bool>(5, false), flights);
  EXPECT_EQ(partition_metrics(layers_, split).lower_bound_s, 40);  // mean 24
}

}  // namespace
}  // namespace omnibal::metrics
