// SPDX-License-Identifier: Apache-2.0
#include "omnibal/partition/partition.h"

#include <gmock/gmock.h>

#include "partition/workload_w.h"

namespace omnibal::partition {
namespace {

struct WRow {
  std::int32_t num_stages;
  double expected;
};

TEST(PartitionOfW, EvenLayersHaveTheKnownBottlenecks) {
  const std::vector<double> ms = workload_w_ms();
  for (const WRow row : {WRow{4, 124.8}, {8, 62.4}, {16, 31.2}}) {
    const Result<Cuts> cuts =
        partition_even_layers(static_cast<std::int32_t>(ms.size()), row.num_stages);
    EXPECT_NEAR(bottleneck(ms, *cuts), row.expected, 1e-9);
  }
}

TEST(PartitionOfW, VisionFirstHasTheKnownBottlenecks) {
  const std::vector<double> ms = workload_w_ms();
  for (const WRow row : {WRow{4, 202.7}, {8, 171.5}, {16, 155.9}}) {
    const Result<Cuts> cuts = partition_vision_first(workload_w_kinds(), row.num_stages);
    EXPECT_NEAR(bottleneck(ms, *cuts), row.expected, 1e-9);
  }
}

TEST(PartitionOfW, MinMaxReachesTheOptimalBottlenecks) {
  const std::vector<double> ms = workload_w_ms();
  for (const WRow row : {WRow{4, 99.20}, {8, 52.00}, {16, 26.00}}) {
    EXPECT_NEAR(bottleneck(ms, *partition_min_max(ms, row.num_stages)), row.expected, 1e-9);
  }
}

TEST(PartitionOfW, LeastVarianceReachesTheKnownVariances) {
  const std::vector<double> ms = workload_w_ms();
  for (const WRow row : {WRow{4, 1.982}, {8, 3.816}, {16, 3.279}}) {
    EXPECT_NEAR(variance(ms, *partition_least_variance(ms, row.num_stages)), row.expected, 5e-4);
  }
}

TEST(PartitionAnchor, StopsWhereTheNextLayerLeadsFartherAway) {
  // total / p = 4. Alone, 3 is nearer than 3 + 3; with 1, the second 3 is exact.
  EXPECT_EQ(*partition_anchor(std::vector<double>{3, 3, 1, 3, 2}, 3), cuts_of({1, 3}));
  // 3 and 3 + 2 are equally near: the layer is taken.
  EXPECT_EQ(*partition_anchor(std::vector<double>{3, 2, 3, 4}, 3), cuts_of({2, 3}));
}

TEST(PartitionAnchor, LeavesALayerForEveryStage) {
  EXPECT_EQ(*partition_anchor(std::vector<double>{1, 1, 1, 100}, 4), cuts_of({1, 2, 3}));
  EXPECT_EQ(*partition_anchor(std::vector<double>{0, 0, 0, 0}, 3), cuts_of({2, 3}));
  EXPECT_EQ(*partition_anchor(std::vector<double>{100, 1, 1, 1}, 2), cuts_of({1}));
}

TEST(PartitionEvenLayers, GivesTheRemainderToTheFirstStages) {
  EXPECT_EQ(*partition_even_layers(7, 2), cuts_of({4}));
  EXPECT_EQ(*partition_even_layers(61, 8), cuts_of({8, 16, 24, 32, 40, 47, 54}));
}

TEST(PartitionVisionFirst, SpreadsTheRemainderOverTheLaterStages) {
  std::vector<std::optional<model::LayerKind>> kinds(2, model::LayerKind::kVisionBlock);
  kinds.insert(kinds.end(), 10, model::LayerKind::kLlmBlock);
  kinds.push_back(model::LayerKind::kHead);
  // Two blocks with the vision tower, then 3, 3 and 2 with the head.
  EXPECT_EQ(*partition_vision_first(kinds, 4), cuts_of({4, 7, 10}));
  EXPECT_EQ(*partition_vision_first(kinds, 1), Cuts{});
}

TEST(PartitionVisionFirst, MayLeaveTheVisionTowerAlone) {
  std::vector<std::optional<model::LayerKind>> kinds(3, model::LayerKind::kVisionBlock);
  kinds.insert(kinds.end(), 2, model::LayerKind::kLlmBlock);
  EXPECT_EQ(*partition_vision_first(kinds, 3), cuts_of({3, 4}));
  EXPECT_EQ(partition_vision_first(kinds, 4).error().code, ErrorCode::kTooManyStages);
  kinds.assign(3, model::LayerKind::kVisionBlock);
  EXPECT_EQ(partition_vision_first(kinds, 2).error().code, ErrorCode::kInvalidArgument);
  kinds.assign(3, std::nullopt);
  EXPECT_EQ(partition_vision_first(kinds, 2).error().code, ErrorCode::kInvalidArgument);
}

TEST(Partition, EverySolverRefusesEmptyStages) {
  const std::vector<double> one(1, 1.0);
  const std::vector<std::int64_t> bytes(1, 1);
  const auto any = [](const Cuts&) { return 0.0; };
  for (const std::int32_t p : {2, 4}) {
    const ErrorCode code = ErrorCode::kTooManyStages;
    EXPECT_EQ(partition_min_max(one, p).error().code, code);
    EXPECT_EQ(partition_least_variance(one, p).error().code, code);
    EXPECT_EQ(partition_anchor(one, p).error().code, code);
    EXPECT_EQ(partition_even_layers(1, p).error().code, code);
    EXPECT_EQ(partition_bmp({one, bytes, p}, {}, any).error().code, code);
  }
  EXPECT_EQ(partition_min_max(one, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(partition_least_variance(one, 0).error().code, ErrorCode::kInvalidArgument);
}

TEST(PartitionMinMax, TakesTheLowestCutsOfEquallyGoodOnes) {
  EXPECT_EQ(*partition_min_max(std::vector<double>(10, 1.0), 4), cuts_of({1, 4, 7}));
  EXPECT_EQ(*partition_min_max(std::vector<double>{9, 1, 1, 1}, 3), cuts_of({1, 2}));
  EXPECT_EQ(*partition_min_max(std::vector<double>{0, 0, 0}, 2), cuts_of({1}));
}

TEST(PartitionBmp, LooksAtAllNeighboursOfAFourStageAnchor) {
  const std::vector<double> ms = workload_w_ms();
  const std::vector<std::int64_t> bytes(ms.size(), 1);
  const auto ranked = rank_neighbours({ms, bytes, 4}, {});
  ASSERT_EQ(ranked->size(), 27U);
  EXPECT_NEAR(ranked->front().var_forward, 1.982, 5e-4);
}

TEST(PartitionBmp, BreaksTiesOfVarianceByBytes) {
  // Anchor {2}; {1} and {3} have the same variance, and {3} crosses the cheaper boundary.
  const std::vector<double> weights(4, 1.0);
  const std::vector<std::int64_t> bytes{10, 99, 5, 1};
  const auto ranked = rank_neighbours({weights, bytes, 2}, {});
  ASSERT_EQ(ranked->size(), 3U);
  EXPECT_EQ((*ranked)[0].cuts, cuts_of({2}));
  EXPECT_EQ((*ranked)[1].cuts, cuts_of({3}));
  EXPECT_EQ((*ranked)[2].cuts, cuts_of({1}));
  EXPECT_EQ((*ranked)[1].sum_comm_bytes, 5);
}

TEST(PartitionBmp, TheEvaluatorDecidesAmongTheCandidates) {
  const std::vector<double> ms = workload_w_ms();
  const std::vector<std::int64_t> bytes(ms.size(), 1);
  const auto last_is_best = [](const Cuts& cuts) { return -cuts.back().value(); };
  const auto judged = partition_bmp({ms, bytes, 4}, {}, last_is_best);
  const Cuts anchor = *partition_anchor(ms, 4);
  EXPECT_EQ(judged->front().cuts.back().value(), anchor.back().value() + 1);
  EXPECT_EQ(judged->front().makespan_s, -(anchor.back().value() + 1));
  const auto one = partition_bmp({ms, bytes, 4}, {.candidates = 1}, last_is_best);
  ASSERT_EQ(one->size(), 1U);
  EXPECT_NEAR(one->front().var_forward, 1.982, 5e-4);
}

TEST(PartitionBmp, SixteenStagesAreNotEnumeratedWhole) {
  const std::vector<double> ms = workload_w_ms();
  const std::vector<std::int64_t> bytes(ms.size(), 1);
  const auto ranked = rank_neighbours({ms, bytes, 16}, {.radius = 2, .candidates = 100});
  ASSERT_EQ(ranked->size(), 100U);
  EXPECT_LE(ranked->front().var_forward, variance(ms, *partition_anchor(ms, 16)));
}

TEST(PartitionBmp, RefusesSenselessOptions) {
  const std::vector<double> w(4, 1.0);
  const std::vector<std::int64_t> bytes(4, 1);
  EXPECT_EQ(rank_neighbours({w, bytes, 2}, {.radius = -1}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(rank_neighbours({w, bytes, 2}, {.candidates = 0}).error().code,
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace omnibal::partition
