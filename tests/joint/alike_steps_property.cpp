// SPDX-License-Identifier: Apache-2.0
//
// The step time of equal micro-batches, of any schedule, against the simulator.
#include "joint/alike_steps.h"

#include <gmock/gmock.h>

#include "joint/made_schedule.h"
#include "omnibal/simulate/pipeline.h"

namespace omnibal::joint {
namespace {

using schedule::ScheduleKind;

std::vector<SplitStageTime> random_times(PhiloxRng& rng, const schedule::Schedule& schedule) {
  const bool splits = has_weight_grads(schedule);
  const std::uint32_t spread = 1 + rng.below(3) * rng.below(400);
  std::vector<SplitStageTime> times;
  for (std::int32_t s = 0; s < schedule.num_stages; ++s) {
    times.push_back({100 + rng.below(spread), rng.below(100 + 2 * spread),
                     splits ? rng.below(100 + spread) : 0});
  }
  return times;
}

double simulated(const schedule::Schedule& schedule, const std::vector<SplitStageTime>& stages) {
  auto times = simulate::PipelineTimes::zeros(schedule.num_stages, schedule.num_micro_batches);
  for (std::int32_t m = 0; m < schedule.num_micro_batches; ++m) {
    for (std::int32_t s = 0; s < schedule.num_stages; ++s) {
      const SplitStageTime& time = stages[static_cast<std::size_t>(s)];
      const std::size_t cell = times.index(m, s);
      times.forward_s[cell] = static_cast<double>(time.forward);
      times.backward_s[cell] = static_cast<double>(time.backward + time.weight_grad);
      times.weight_grad_s[cell] = static_cast<double>(time.weight_grad);
    }
  }
  return simulate::makespan(*simulate::compile(schedule), times);
}

TEST(AlikeStepsProperty, LengthIsTheMakespanAndBoundIsBelow) {
  PhiloxRng rng(71, RngStream::kTest);
  for (int i = 0; i < 1500; ++i) {
    constexpr std::array kAll = {ScheduleKind::kInterleaved, ScheduleKind::kZbH1,
                                 ScheduleKind::kZbV, ScheduleKind::kOneFOneB, ScheduleKind::kGPipe};
    const schedule::Schedule schedule = random_schedule(rng, kAll[i % kAll.size()], 6, 20, 4);
    const std::vector<SplitStageTime> times = random_times(rng, schedule);
    AlikeSteps steps(schedule);
    const Ticks length = steps.length(times);
    // Whole numbers: doubles add them up exactly.
    EXPECT_EQ(static_cast<double>(length), simulated(schedule, times)) << i;
    EXPECT_LE(steps.bound(times), length) << i << ": " << to_string(schedule.kind);
  }
}

}  // namespace
}  // namespace omnibal::joint
