// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/stage_times.h"

#include <gmock/gmock.h>

#include <limits>

#include "omnibal/metrics/stages.h"
#include "omnibal/simulate/stage_memory.h"

namespace omnibal::simulate {
namespace {

/// Six layers, each a different linear function of the load; the first two may be frozen.
cost::Profile small_profile(bool frozen_start) {
  cost::Profile profile;
  profile.load = {2, 100, 5000};
  for (int i = 0; i < 6; ++i) {
    cost::LayerProfile& layer = profile.layers.emplace_back();
    layer.name = "layer." + std::to_string(i);
    layer.trainable = !frozen_start || i > 1;
    layer.forward_s = {0.001 * i, 0.01, 1e-5 * i, 1e-8};
    layer.input_grad_s = layer.weight_grad_s = layer.recompute_s = layer.forward_s;
    layer.activation_bytes = {1000.0 + i, 10, 3, 0};
    layer.recomputed_bytes = {10, 1, 0, 0};
    layer.static_bytes = {500, 0, 0, 0};
    layer.boundary_bytes = {0, 0, 1000.0 * (i + 1), 0};
  }
  return profile;
}

const partition::Cuts kCuts{LayerIndex{2}, LayerIndex{4}};
const recompute::RecomputeMask kMask{true, false, false, true, true, true};

TEST(StageCosts, NamedChoicesCostWhatTheProfileSays) {
  cost::Profile profile = small_profile(true);
  for (cost::LayerProfile& layer : profile.layers) {
    layer.recompute_choices = {
        {"attention", {.per_token = 3e-6}, {.constant = 40}, {.constant = 9}},
        {"mlp", {.per_vision_unit = 0.5}, {.constant = 30}, {.constant = 7}}};
  }
  const cost::LayerChoices choices{2, 0, 3, 1, 0, 2};  // layer 0 is frozen: it pays nothing
  const auto direct = chosen_stage_costs(pipeline_layers(profile), kCuts, choices);
  const cost::Profile chosen = cost::with_choices(profile, choices);
  const auto by_profile = stage_costs(chosen, kCuts, cost::spares_memory(choices));
  const cost::Load load{2, 100, 5000};
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(direct[s].recompute_s, by_profile[s].recompute_s) << s;
    EXPECT_EQ(direct[s].forward_s, by_profile[s].forward_s) << s;
  }
  EXPECT_EQ(direct[0].recompute_s.at(load), 0);
  EXPECT_DOUBLE_EQ(direct[1].recompute_s.at(load), 1 + profile.layers[3].recompute_s.at(load));
  EXPECT_DOUBLE_EQ(direct[2].recompute_s.at(load), 3e-4);
  const auto stages =
      metrics::summarize_stages(cost::evaluate(chosen, load), partition::first_layers(kCuts),
                                cost::spares_memory(choices), std::vector<std::int64_t>{3, 2, 1});
  EXPECT_EQ(stages[2].kept_bytes, 1000 + 4 + 20 + 300 + 40);
  EXPECT_EQ(stages[2].transient_bytes, 9);
  EXPECT_EQ(stages[1].transient_bytes, 1000 + 3 + 20 + 300);  // layer 3 rebuilds all of itself
}

TEST(StageCosts, AgreeWithTheSummaryAtAnyLoad) {
  for (const bool frozen : {false, true}) {
    const cost::Profile profile = small_profile(frozen);
    const std::vector<StageCost> costs = stage_costs(profile, kCuts, kMask);
    for (const cost::Load& load : {profile.load, cost::Load{0, 7, 49}, cost::Load{}}) {
      const auto stages =
          metrics::summarize_stages(cost::evaluate(profile, load), partition::first_layers(kCuts),
                                    kMask, std::vector<std::int64_t>{3, 2, 1});
      for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_DOUBLE_EQ(costs[s].forward_s.at(load), stages[s].forward_s);
        EXPECT_DOUBLE_EQ(costs[s].backward_s.at(load), stages[s].backward_s);
        EXPECT_DOUBLE_EQ(costs[s].recompute_s.at(load), stages[s].recompute_s);
      }
    }
  }
}

TEST(StageCosts, NoMaskRecomputesNothing) {
  const std::vector<StageCost> costs = stage_costs(small_profile(false), kCuts, {});
  for (const StageCost& stage : costs) EXPECT_EQ(stage.recompute_s.at({9, 9, 9}), 0);
}

TEST(PipelineTimes, TransfersCostLatencyAndBytes) {
  const std::vector<StageCost> costs = stage_costs(small_profile(false), kCuts, kMask);
  const std::vector<cluster::Link> links{{1e6, 0.5}, {2e6, 0.25}};
  const std::vector<cost::Load> loads{{1, 100, 0}, {1, 0, 0}};
  const PipelineTimes times = pipeline_times(costs, links, loads);
  // Boundaries behind layers 1 and 3: 2000 and 4000 bytes a token.
  EXPECT_THAT(times.activation_s, testing::ElementsAre(0.5 + 0.2, 0.25 + 0.2, 0, 0, 0, 0));
  EXPECT_EQ(times.gradient_s, times.activation_s);
  const PipelineTimes free = pipeline_times(costs, {}, loads);
  EXPECT_THAT(free.activation_s, testing::Each(0.0));
  EXPECT_EQ(free.forward_s, times.forward_s);
}

TEST(PipelineTimes, NoGradientFlowsBackToFrozenLayers) {
  const std::vector<StageCost> costs = stage_costs(small_profile(true), kCuts, kMask);
  const std::vector<cluster::Link> links(2, {1e6, 0.5});
  const std::vector<cost::Load> loads{{1, 100, 0}};
  const PipelineTimes times = pipeline_times(costs, links, loads);
  EXPECT_EQ(times.gradient_s[0], 0);
  EXPECT_GT(times.gradient_s[1], 0);
  EXPECT_GT(times.activation_s[0], 0);
}

TEST(PipelineTimes, AreFilledIntoUsedMemory) {
  const std::vector<StageCost> costs = stage_costs(small_profile(false), kCuts, kMask);
  PipelineTimes times = PipelineTimes::zeros(7, 9);
  const std::vector<cost::Load> loads{{1, 2, 3}, {4, 5, 6}};
  fill_pipeline_times(costs, {}, loads, times);
  EXPECT_EQ(times.num_stages, 3);
  EXPECT_EQ(times.num_micro_batches, 2);
  EXPECT_EQ(times.forward_s, pipeline_times(costs, {}, loads).forward_s);
  EXPECT_EQ(times.gradient_s.size(), 6U);
}

TEST(BoundaryLinks, FollowThePlacementOfTheRanks) {
  cluster::ClusterSpec cluster;
  cluster.devices_per_node = 8;
  cluster.inner = {100, 1};
  cluster.outer = {10, 2};
  // tp 2, pp 4, dp 1: all eight devices in a node; each pair shares the boundary.
  for (const cluster::Link& link : boundary_links(cluster, {.tp = 2, .pp = 4, .dp = 1})) {
    EXPECT_EQ(link.bytes_per_s, 200);
    EXPECT_EQ(link.latency_s, 1);
  }
  // dp 2: four devices a stage, so that stages 0-1 and 2-3 share a node.
  const auto links = boundary_links(cluster, {.tp = 2, .pp = 4, .dp = 2}, 1);
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].bytes_per_s, 200);
  EXPECT_EQ(links[1].bytes_per_s, 20);
  EXPECT_EQ(links[2].bytes_per_s, 200);
  EXPECT_TRUE(boundary_links(cluster, {.pp = 1}).empty());
}

TEST(PeakBytes, OfEqualLoadsIsTheFormula) {
  const cost::Profile profile = small_profile(false);
  for (const auto kind : {schedule::ScheduleKind::kOneFOneB, schedule::ScheduleKind::kGPipe}) {
    for (const std::int32_t m : {1, 2, 8}) {
      const schedule::Schedule s = *schedule::make_schedule(kind, 3, m);
      const auto stages =
          metrics::summarize_stages(cost::evaluate(profile, profile.load),
                                    partition::first_layers(kCuts), kMask, in_flight(s));
      const std::vector<cost::Load> loads(static_cast<std::size_t>(m), profile.load);
      const std::vector<std::int64_t> peaks = peak_bytes(s, profile, kCuts, kMask, loads);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(peaks[i], stages[i].peak_bytes);
    }
  }
}

TEST(BoundaryLinks, FollowTheStagesToTheirRanks) {
  cluster::ClusterSpec cluster;
  cluster.devices_per_node = 2;
  cluster.inner = {100, 1};
  cluster.outer = {10, 2};
  const auto rates = [&](schedule::ScheduleKind kind, std::int32_t stages) {
    const auto s = *schedule::make_schedule(kind, stages, 4, {.chunks = 2});
    std::vector<double> found;
    for (const cluster::Link& link : boundary_links(cluster, {.pp = stages / 2}, 0, s)) {
      found.push_back(link.bytes_per_s);
      EXPECT_EQ(link.latency_s, link.bytes_per_s == 100 ? 1 : link.bytes_per_s == 10 ? 2 : 0);
    }
    return found;
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // Four ranks, two a node; the interleaved ring closes over both nodes, the V turns inside rank 3.
  EXPECT_EQ(rates(schedule::ScheduleKind::kInterleaved, 8),
            (std::vector<double>{100, 10, 100, 10, 100, 10, 100}));
  EXPECT_EQ(rates(schedule::ScheduleKind::kZbV, 8),
            (std::vector<double>{100, 10, 100, kNone, 100, 10, 100}));
}

TEST(PipelineTimes, WeightGradientsAreAPartOfTheBackward) {
  const cost::Profile profile = small_profile(true);
  const std::vector<StageCost> costs = stage_costs(profile, kCuts, kMask);
  const PipelineTimes times = pipeline_times(costs, {}, std::vector<cost::Load>{profile.load});
  EXPECT_EQ(times.weight_grad_s[0], 0);  // frozen
  for (std::size_t s = 1; s < 3; ++s) {
    EXPECT_GT(times.weight_grad_s[s], 0);
    EXPECT_LE(times.weight_grad_s[s], times.backward_s[s]);
  }
  EXPECT_DOUBLE_EQ(2 * times.weight_grad_s[2], times.backward_s[2]);
}

/// Six layers of one stage a layer, kept 10, kept 1 if recomputed, fixed 100.
cost::Profile plain_profile(bool frozen_end) {
  cost::Profile profile;
  profile.layers.resize(6);
  for (cost::LayerProfile& layer : profile.layers) {
    layer.activation_bytes.constant = 10;
    layer.recomputed_bytes.constant = 1;
    layer.static_bytes.constant = 100;
  }
  profile.layers.back().trainable = !frozen_end;
  return profile;
}

const partition::Cuts kSixStages{LayerIndex{1}, LayerIndex{2}, LayerIndex{3}, LayerIndex{4},
                                 LayerIndex{5}};

TEST(PeakBytes, OfARankCountAllItsStages) {
  const cost::Profile profile = plain_profile(false);
  const std::vector<cost::Load> loads(12);
  const auto v = *schedule::make_schedule(schedule::ScheduleKind::kZbV, 6, 12, {.chunks = 2});
  // Two stages of 100 and at most 2 p = 6 activations of 10.
  EXPECT_EQ(peak_bytes(v, profile, kSixStages, {}, loads),
            (std::vector<std::int64_t>{260, 260, 260}));
  const auto turns =
      *schedule::make_schedule(schedule::ScheduleKind::kInterleaved, 6, 12, {.chunks = 2});
  EXPECT_EQ(peak_bytes(turns, profile, kSixStages, {}, loads),
            (std::vector<std::int64_t>{200 + 80, 200 + 60, 200 + 40}));
}

TEST(PeakBytes, OfASplitBackwardLastUntilTheWeightGradient) {
  const auto h1 = *schedule::make_schedule(schedule::ScheduleKind::kZbH1, 6, 12);
  const std::vector<cost::Load> loads(12);
  EXPECT_EQ(peak_bytes(h1, plain_profile(false), kSixStages, {}, loads),
            std::vector<std::int64_t>(6, 160));
  // A frozen layer has no weight gradient: the last stage holds one at a time.
  EXPECT_EQ(peak_bytes(h1, plain_profile(true), kSixStages, {}, loads).back(), 110);
  // Recomputed: kept 1 until the backward, then 10 until the weight gradient. Stage s of 6 holds
  // 6 - s of the former and s of the latter while the next backward runs, then one more.
  const recompute::RecomputeMask all(6, true);
  const std::vector<std::int64_t> peaks =
      peak_bytes(h1, plain_profile(false), kSixStages, all, loads);
  for (std::int64_t s = 0; s < 6; ++s) {
    EXPECT_EQ(peaks[static_cast<std::size_t>(s)], 100 + (6 - s) + 10 * s + 10);
  }
}

TEST(PeakBytes, FollowTheHeaviestMicroBatchesHeldAtOnce) {
  cost::Profile profile;
  profile.layers.resize(2);
  for (cost::LayerProfile& layer : profile.layers) layer.activation_bytes = {0, 0, 1, 0};
  const schedule::Schedule s = *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, 2, 4);
  const std::vector<cost::Load> loads{{0, 10, 0}, {0, 1, 0}, {0, 5, 0}, {0, 7, 0}};
  // Stage 0 holds two neighbours at once (5 + 7 or 10 + 1), stage 1 one at a time.
  EXPECT_EQ(peak_bytes(s, profile, {LayerIndex{1}}, {}, loads),
            (std::vector<std::int64_t>{12, 10}));
}

}  // namespace
}  // namespace omnibal::simulate
