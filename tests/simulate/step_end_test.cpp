// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/step_end.h"

#include <gmock/gmock.h>

#include "omnibal/simulate/collectives.h"
#include "omnibal/simulate/step.h"
#include "simulate/uniform_times.h"

namespace omnibal::simulate {
namespace {

using schedule::make_schedule;
using schedule::ScheduleKind;

cluster::ClusterSpec small_cluster() {
  cluster::ClusterSpec cluster;
  cluster.devices_per_node = 4;
  cluster.memory_bytes_per_s = 1000;
  cluster.inner = {100, 1};
  cluster.outer = {10, 5};
  return cluster;
}

TEST(DataParallelGroup, InsideANodeUsesTheInnerLink) {
  const DeviceGroup group = data_parallel_group(small_cluster(), {.tp = 2, .pp = 2, .dp = 2}, 1);
  EXPECT_EQ(group.members, 2);
  EXPECT_EQ(group.bytes_per_s, 100);
  EXPECT_EQ(group.latency_s, 1);
}

TEST(DataParallelGroup, AcrossNodesLeavesThroughTheLinksOfItsMembersThere) {
  // Eight devices of two nodes: four links of 10 out of each; three hops inside each, one across.
  const DeviceGroup one = data_parallel_group(small_cluster(), {.tp = 1, .pp = 1, .dp = 8}, 0);
  EXPECT_EQ(one.bytes_per_s, 40);
  EXPECT_EQ(one.latency_s, 5 + 6);
  // With tp 4 every node holds one member.
  const DeviceGroup apart = data_parallel_group(small_cluster(), {.tp = 4, .pp = 1, .dp = 3}, 0);
  EXPECT_EQ(apart.bytes_per_s, 10);
  EXPECT_EQ(apart.latency_s, 10);
  // Rank 1 of three devices a rank straddles two nodes: one member in the first.
  const DeviceGroup odd = data_parallel_group(small_cluster(), {.tp = 1, .pp = 2, .dp = 3}, 1);
  EXPECT_EQ(odd.bytes_per_s, 10);
  EXPECT_EQ(odd.latency_s, 5 + 1);
}

TEST(Collectives, PassAllButOneShareOverEachHop) {
  const DeviceGroup group{4, 10, 2};
  EXPECT_DOUBLE_EQ(all_gather_s(group, 40), 2 + 3);
  EXPECT_DOUBLE_EQ(reduce_scatter_s(group, 40), 5);
  EXPECT_DOUBLE_EQ(all_reduce_s(group, 40), 10);
  EXPECT_EQ(all_gather_s(group, 0), 0);
  EXPECT_EQ(all_reduce_s({1, 10, 2}, 40), 0);
}

/// Two layers of 100 and 300 parameters; the first may be frozen.
cost::Profile two_layers(bool frozen) {
  cost::Profile profile;
  profile.layers.resize(2);
  profile.layers[0].parameters = 100;
  profile.layers[0].trainable = !frozen;
  profile.layers[1].parameters = 300;
  return profile;
}

TEST(StepEnd, CountsGradientsStatesAndWeightsOfTheDevice) {
  const cost::Profile profile = two_layers(false);
  const partition::Cuts cuts{LayerIndex{1}};
  const auto schedule = *make_schedule(ScheduleKind::kOneFOneB, 2, 4);
  const cluster::ClusterSpec cluster = small_cluster();
  const StepEndCase step{profile, cuts, schedule, cluster, {.tp = 1, .pp = 2, .dp = 4}};
  // A stage fills a node: 3/4 of the bytes at 100 a second, three hops of a second.
  const StepEnd distributed = *step_end(step, Reduction::kDistributed);
  EXPECT_THAT(distributed.reduce_s, testing::ElementsAre(3 + 3, 3 + 9));
  EXPECT_THAT(distributed.optimizer_s, testing::ElementsAre(0.75, 2.25));
  EXPECT_THAT(distributed.gather_s, testing::ElementsAre(3 + 1.5, 3 + 4.5));
  const StepEnd all_reduce = *step_end(step, Reduction::kAllReduce);
  EXPECT_THAT(all_reduce.reduce_s, testing::ElementsAre(12, 24));
  EXPECT_THAT(all_reduce.optimizer_s, testing::ElementsAre(3, 9));
  EXPECT_THAT(all_reduce.gather_s, testing::ElementsAre(0, 0));
  EXPECT_TRUE(step_end(step, Reduction::kNone)->empty());
}

TEST(StepEnd, LeavesFrozenLayersOut) {
  const cost::Profile profile = two_layers(true);
  const partition::Cuts cuts{LayerIndex{1}};
  const auto schedule = *make_schedule(ScheduleKind::kOneFOneB, 2, 4);
  const cluster::ClusterSpec cluster = small_cluster();
  const StepEnd end = *step_end({profile, cuts, schedule, cluster, {.tp = 2, .pp = 2, .dp = 2}},
                                Reduction::kAllReduce);
  EXPECT_EQ(end.reduce_s[0], 0);
  EXPECT_EQ(end.optimizer_s[0], 0);
  EXPECT_DOUBLE_EQ(end.optimizer_s[1], 30 * 150.0 / 1000);
}

TEST(StepEnd, AsksForParametersAndTheRateOfTheMemory) {
  cost::Profile profile = two_layers(false);
  const partition::Cuts cuts{LayerIndex{1}};
  const auto schedule = *make_schedule(ScheduleKind::kOneFOneB, 2, 4);
  cluster::ClusterSpec cluster = small_cluster();
  const StepEndCase step{profile, cuts, schedule, cluster, {.pp = 2}};
  cluster.memory_bytes_per_s = 0;
  EXPECT_EQ(step_end(step, Reduction::kAllReduce).error().where.key, "memory_bytes_per_s");
  EXPECT_TRUE(step_end(step, Reduction::kNone).ok());
  for (cost::LayerProfile& layer : profile.layers) layer.parameters = 0;
  EXPECT_EQ(step_end(step, Reduction::kAllReduce).error().where.key, "parameters");
}

TEST(StepEnd, OverlapsWithStagesThatStillCompute) {
  // 1F1B, forward 1, backward 2, two micro-batches: stage 1 is done at 7, stage 0 at 9.
  const CompiledSchedule s = *compile(*make_schedule(ScheduleKind::kOneFOneB, 2, 2));
  const std::vector<PipelineTimes> one{uniform_times({1, 1}, 2)};
  const StepEnd hidden{{0, 2}, {1, 0}, {0, 0}};
  EXPECT_DOUBLE_EQ(simulate_step(s, one, hidden)->makespan_s, 9 + 1);
  const StepEnd seen{{0, 4}, {1, 0}, {0, 0.5}};
  const StepSimulation step = *simulate_step(s, one, seen);
  EXPECT_DOUBLE_EQ(step.makespan_s, 7 + 4 + 1);
  EXPECT_DOUBLE_EQ(step.optimizer_s, 1);
  EXPECT_DOUBLE_EQ(step.ranks[0].busy_s, 6 + 1);
  EXPECT_DOUBLE_EQ(step.breakdown.useful_s, 12 + 1);
}

TEST(StepEnd, ReducesTheStagesOfARankOneAfterAnother) {
  // One rank, two stages: stage 1 is ready at 3, stage 0 at 5; each takes 4 to reduce.
  const CompiledSchedule s =
      *compile(*make_schedule(ScheduleKind::kInterleaved, 2, 1, {.chunks = 2}));
  const StepEndTimeline end = run_step_end(s, {{4, 4}, {1, 2}, {3, 0}}, std::vector{5.0, 3.0}, 5);
  ASSERT_EQ(end.spans.size(), 6U);
  EXPECT_EQ(end.spans[0].stage, 1);
  EXPECT_EQ(end.spans[0].end_s, 7);
  EXPECT_EQ(end.spans[1].stage, 0);
  EXPECT_EQ(end.spans[1].start_s, 7);
  EXPECT_EQ(end.spans[2].start_s, 11);
  EXPECT_EQ(end.makespan_s, 11 + 3 + 3);
}

TEST(StepEnd, WaitsForTheSlowestDataParallelRank) {
  const CompiledSchedule s = *compile(*make_schedule(ScheduleKind::kOneFOneB, 1, 1));
  const std::vector<PipelineTimes> two{uniform_times({1}, 1), uniform_times({3}, 1)};
  const StepSimulation step = *simulate_step(s, two, {{2}, {1}, {0}});
  EXPECT_DOUBLE_EQ(step.makespan_s, 9 + 2 + 1);
  EXPECT_DOUBLE_EQ(step.breakdown.rank_imbalance_s, 2 * 3);
  EXPECT_DOUBLE_EQ(step.reduction_s, 2 * 2);
  EXPECT_DOUBLE_EQ(step.breakdown.communication_s, 2 * 2);
  EXPECT_DOUBLE_EQ(step.breakdown.useful_s, 12 + 2);
}

TEST(Reduction, NamesAreReadBack) {
  for (const std::string& name : reduction_names()) EXPECT_TRUE(parse_reduction(name).ok());
  EXPECT_EQ(*parse_reduction("distributed"), Reduction::kDistributed);
  EXPECT_EQ(parse_reduction("ring").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace omnibal::simulate
