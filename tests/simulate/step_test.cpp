// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "omnibal/simulate/step.h"
#include "simulate/uniform_times.h"

namespace omnibal::simulate {
namespace {

using schedule::make_schedule;
using schedule::ScheduleKind;

StepSimulation step_of(const std::vector<PipelineTimes>& pipelines) {
  const CompiledSchedule s = *compile(*make_schedule(
      ScheduleKind::kOneFOneB, pipelines[0].num_stages, pipelines[0].num_micro_batches));
  Result<StepSimulation> step = simulate_step(s, pipelines);
  EXPECT_TRUE(step.ok());
  return *std::move(step);
}

TEST(SimulateStep, EqualStagesLeaveTheBubbleAlone) {
  const StepSimulation step = step_of({uniform_times({1, 1, 1, 1}, 8)});
  EXPECT_DOUBLE_EQ(step.makespan_s, 33);
  EXPECT_DOUBLE_EQ(step.bubble_fraction, 3.0 / 11.0);
  EXPECT_DOUBLE_EQ(step.breakdown.useful_s, 96);
  EXPECT_DOUBLE_EQ(step.breakdown.bubble_s, 36);
  EXPECT_EQ(step.breakdown.recompute_s, 0);
  EXPECT_EQ(step.breakdown.stage_imbalance_s, 0);
  EXPECT_EQ(step.breakdown.rank_imbalance_s, 0);
  EXPECT_EQ(step.breakdown.communication_s, 0);
}

TEST(SimulateStep, ASlowRankIsRankImbalance) {
  // One stage, one micro-batch: 3 s and 9 s; equal ranks would take 6.
  const StepSimulation step = step_of({uniform_times({1}, 1), uniform_times({3}, 1)});
  EXPECT_DOUBLE_EQ(step.makespan_s, 9);
  EXPECT_DOUBLE_EQ(step.breakdown.rank_imbalance_s, 6);
  EXPECT_DOUBLE_EQ(step.breakdown.bubble_s, 0);
  EXPECT_DOUBLE_EQ(step.ranks[0].busy_s, 3);
  EXPECT_DOUBLE_EQ(step.ranks[0].idle_s, 6);
  EXPECT_DOUBLE_EQ(step.ranks[1].idle_s, 0);
}

TEST(SimulateStep, ASlowStageIsStageImbalance) {
  // Two stages of 1 and 3, two micro-batches; equal stages of 2 take (2 + 1) x 6 = 18.
  const StepSimulation step = step_of({uniform_times({1, 3}, 2)});
  EXPECT_DOUBLE_EQ(step.makespan_s, 1 + 2 * 9 + 2);
  EXPECT_DOUBLE_EQ(step.breakdown.stage_imbalance_s, 2 * (21 - 18));
  EXPECT_DOUBLE_EQ(step.breakdown.bubble_s, 2 * 6);
}

TEST(SimulateStep, TransfersAreCommunicationAndRecomputationIsBusy) {
  PipelineTimes times = uniform_times({1, 1}, 1);
  times.activation_s = times.gradient_s = {0.5, 0};
  times.recompute_s = {1, 1};
  const StepSimulation step = step_of({times});
  EXPECT_DOUBLE_EQ(step.makespan_s, 9);
  EXPECT_DOUBLE_EQ(step.breakdown.communication_s, 2);
  EXPECT_DOUBLE_EQ(step.breakdown.recompute_s, 2);
  EXPECT_DOUBLE_EQ(step.breakdown.useful_s, 6);
  EXPECT_DOUBLE_EQ(step.breakdown.bubble_s, 8);
}

TEST(SimulateStep, StagesThatInterlockCountNoImbalance) {
  // Micro-batch 0 is heavy on stage 1, micro-batch 1 on stage 0: they run side by side, and equal
  // stages would take longer.
  PipelineTimes times = PipelineTimes::zeros(2, 2);
  times.forward_s = {0, 10, 10, 0};
  const CompiledSchedule s = *compile(*make_schedule(ScheduleKind::kGPipe, 2, 2));
  const std::vector<PipelineTimes> one{times};
  const StepSimulation step = *simulate_step(s, one);
  EXPECT_DOUBLE_EQ(step.makespan_s, 10);
  EXPECT_EQ(step.breakdown.stage_imbalance_s, 0);
  EXPECT_EQ(step.breakdown.bubble_s, 0);
}

TEST(SimulateStep, RefusesShapesThatDisagree) {
  const CompiledSchedule s = *compile(*make_schedule(ScheduleKind::kOneFOneB, 2, 2));
  EXPECT_EQ(simulate_step(s, {}).error().code, ErrorCode::kInvalidArgument);
  std::vector<PipelineTimes> pipelines{uniform_times({1, 1}, 2), uniform_times({1, 1}, 3)};
  EXPECT_EQ(simulate_step(s, pipelines).error().code, ErrorCode::kInvalidArgument);
  pipelines[1] = uniform_times({1, 1}, 2);
  pipelines[1].gradient_s.pop_back();
  EXPECT_EQ(simulate_step(s, pipelines).error().code, ErrorCode::kInvalidArgument);
}

TEST(SimulateStep, NothingToDoTakesNoTime) {
  const StepSimulation step = step_of({PipelineTimes::zeros(2, 2)});
  EXPECT_EQ(step.makespan_s, 0);
  EXPECT_EQ(step.bubble_fraction, 0);
}

}  // namespace
}  // namespace omnibal::simulate
