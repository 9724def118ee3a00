// SPDX-License-Identifier: Apache-2.0
#include "joint/step_path.h"

#include <gmock/gmock.h>

#include "joint/made_problem.h"

namespace omnibal::joint {
namespace {

/// Stages that differ little or much, some of the first without a backward (frozen).
std::vector<StageTime> random_times(PhiloxRng& rng, std::int32_t num_stages) {
  const std::uint32_t spread = 1 + rng.below(3) * rng.below(400);
  const auto frozen = static_cast<std::int32_t>(
      rng.below(2) == 0 ? 0 : rng.below(static_cast<std::uint32_t>(num_stages) + 1));
  std::vector<StageTime> times;
  for (std::int32_t s = 0; s < num_stages; ++s) {
    const Ticks forward = 100 + rng.below(spread);
    const Ticks backward = 100 + rng.below(100) + rng.below(2 * spread);
    times.push_back(s < frozen ? StageTime{forward + backward, 0} : StageTime{forward, backward});
  }
  return times;
}

double simulated(const schedule::Schedule& schedule, const std::vector<StageTime>& stages) {
  auto times = simulate::PipelineTimes::zeros(schedule.num_stages, schedule.num_micro_batches);
  for (std::int32_t m = 0; m < schedule.num_micro_batches; ++m) {
    for (std::int32_t s = 0; s < schedule.num_stages; ++s) {
      const StageTime& time = stages[static_cast<std::size_t>(s)];
      times.forward_s[times.index(m, s)] = static_cast<double>(time.forward);
      times.backward_s[times.index(m, s)] = static_cast<double>(time.backward);
    }
  }
  return simulate::makespan(*simulate::compile(schedule), times);
}

TEST(StepPathProperty, IsTheMakespanOfEqualMicroBatches) {
  PhiloxRng rng(51, RngStream::kTest);
  for (int i = 0; i < 3000; ++i) {
    const auto p = static_cast<std::int32_t>(1 + rng.below(12));
    const auto m = static_cast<std::int32_t>(1 + rng.below(30));
    const auto kind =
        rng.below(4) == 0 ? schedule::ScheduleKind::kGPipe : schedule::ScheduleKind::kOneFOneB;
    const std::vector<StageTime> times = random_times(rng, p);
    const StepPath path(
        {.layers = {}, .schedule = kind, .num_stages = p, .num_micro_batches = m, .in_flight = {}});
    // Whole numbers: doubles add them up exactly.
    EXPECT_EQ(static_cast<double>(path.length(times)),
              simulated(*schedule::make_schedule(kind, p, m), times))
        << i << ": " << to_string(kind) << ", " << p << " stages, " << m << " micro-batches";
  }
}

}  // namespace
}  // namespace omnibal::joint
