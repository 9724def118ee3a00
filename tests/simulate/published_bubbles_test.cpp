// SPDX-License-Identifier: Apache-2.0
//
// Bubbles of equal stages against the formulas that the schedules' papers print.
#include <gmock/gmock.h>

#include <algorithm>

#include "omnibal/simulate/step.h"

namespace omnibal::simulate {
namespace {

using schedule::make_schedule;
using schedule::Schedule;
using schedule::ScheduleKind;

struct StageTimes {
  double forward_s = 1;
  double input_grad_s = 1;
  double weight_grad_s = 1;
};

/// Every stage takes the same in every micro-batch.
PipelineTimes equal_times(const Schedule& schedule, const StageTimes& stage) {
  PipelineTimes times = PipelineTimes::zeros(schedule.num_stages, schedule.num_micro_batches);
  std::ranges::fill(times.forward_s, stage.forward_s);
  std::ranges::fill(times.backward_s, stage.input_grad_s + stage.weight_grad_s);
  std::ranges::fill(times.weight_grad_s, stage.weight_grad_s);
  return times;
}

double bubble_fraction(const Schedule& schedule) {
  const std::vector<PipelineTimes> one{equal_times(schedule, {})};
  const StepSimulation step = *simulate_step(*compile(schedule), one);
  EXPECT_NEAR(step.breakdown.bubble_s,
              step.bubble_fraction * step.makespan_s * static_cast<double>(step.ranks.size()),
              1e-9);
  return step.bubble_fraction;
}

/// Visits ranks and micro-batches, from `least(p)` micro-batches on.
template <class Least, class Visit>
void for_sizes(const Least& least, const Visit& visit) {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (std::int32_t m = least(p); m <= 24; ++m) visit(p, m);
  }
}

/// GPipe, arXiv 1811.06965, section 2.3; 1F1B, Megatron-LM, arXiv 2104.04473, section 2.2.1: idle
/// over ideal time (p - 1) / m, over all time (p - 1) / (m + p - 1).
TEST(PublishedBubble, OfGPipeAnd1F1B) {
  for_sizes([](std::int32_t) { return 1; },
            [](std::int32_t p, std::int32_t m) {
              for (const ScheduleKind kind : {ScheduleKind::kGPipe, ScheduleKind::kOneFOneB}) {
                EXPECT_NEAR(bubble_fraction(*make_schedule(kind, p, m)), (p - 1.0) / (m + p - 1),
                            1e-12);
              }
            });
}

/// Megatron-LM, arXiv 2104.04473, section 2.2.2: over ideal time (p - 1) / (v m). It asks for a
/// multiple of p micro-batches; here any number from p on.
TEST(PublishedBubble, OfInterleaved1F1B) {
  for_sizes(
      [](std::int32_t p) { return p; },
      [](std::int32_t p, std::int32_t m) {
        for (const std::int32_t v : {2, 3, 4}) {
          const Schedule s = *make_schedule(ScheduleKind::kInterleaved, p * v, m, {.chunks = v});
          EXPECT_NEAR(bubble_fraction(s), (p - 1.0) / (v * m + p - 1), 1e-12) << p << " " << m;
        }
      });
}

/// Zero bubble pipeline parallelism, arXiv 2401.10241, table 1: (p - 1) (T_F + T_B - T_W); its
/// cost of a step (section 5.3) is the busy time of the slowest stage and the bubble.
TEST(PublishedBubble, OfZbH1) {
  for (const StageTimes& stage : {StageTimes{1, 1, 1}, {1, 1.25, 0.75}, {2, 3, 1}}) {
    for_sizes([](std::int32_t p) { return p; },
              [&](std::int32_t p, std::int32_t m) {
                const Schedule s = *make_schedule(ScheduleKind::kZbH1, p, m);
                const double busy =
                    m * (stage.forward_s + stage.input_grad_s + stage.weight_grad_s);
                const double bubble =
                    (p - 1) * (stage.forward_s + stage.input_grad_s - stage.weight_grad_s);
                EXPECT_NEAR(makespan(*compile(s), equal_times(s, stage)), busy + bubble, 1e-9);
              });
  }
}

/// Pipeline parallelism with controllable memory, arXiv 2405.15362, section 4: V-ZB has none if
/// F = B = W. A rank then never waits between its first and its last action; ranks start one after
/// another, and end so.
TEST(PublishedBubble, OfZbVIsNone) {
  for_sizes([](std::int32_t p) { return 2 * p; },
            [](std::int32_t p, std::int32_t m) {
              const Schedule s = *make_schedule(ScheduleKind::kZbV, 2 * p, m, {.chunks = 2});
              const Timeline timeline = simulate(*compile(s), equal_times(s, {}));
              for (std::int32_t r = 0; r < p; ++r) {
                const std::vector<Interval>& rank = timeline.ranks[static_cast<std::size_t>(r)];
                EXPECT_EQ(rank.front().start_s, r);
                EXPECT_EQ(rank.back().end_s, r + 6 * m);
              }
              EXPECT_EQ(timeline.makespan_s, 6 * m + p - 1);
            });
}

}  // namespace
}  // namespace omnibal::simulate
