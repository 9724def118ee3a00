// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "omnibal/simulate/step.h"
#include "simulate/uniform_times.h"

namespace omnibal::simulate {
namespace {

using schedule::make_schedule;
using schedule::Schedule;
using schedule::ScheduleKind;

constexpr std::array kKinds = {ScheduleKind::kGPipe, ScheduleKind::kOneFOneB,
                               ScheduleKind::kInterleaved, ScheduleKind::kZbH1, ScheduleKind::kZbV};

Schedule random_schedule(PhiloxRng& rng) {
  const ScheduleKind kind = kKinds[rng.below(kKinds.size())];
  const std::int32_t chunks =
      fewest_chunks(kind) +
      (kind == ScheduleKind::kInterleaved ? static_cast<std::int32_t>(rng.below(2)) : 0);
  return *make_schedule(kind, chunks * static_cast<std::int32_t>(1 + rng.below(6)),
                        static_cast<std::int32_t>(1 + rng.below(9)), {.chunks = chunks});
}

StepEnd random_end(PhiloxRng& rng, std::int32_t num_stages) {
  StepEnd end;
  for (std::int32_t s = 0; s < num_stages; ++s) {
    end.reduce_s.push_back(2 * rng.uniform());
    end.optimizer_s.push_back(rng.uniform());
    end.gather_s.push_back(rng.uniform());
  }
  return end;
}

/// Longest path by relaxing every dependency until nothing moves: no order, no compiled schedule.
double makespan_by_relaxation(const Schedule& schedule, const PipelineTimes& times) {
  std::vector<double> forward(times.forward_s.size(), 0.0);
  std::vector<double> backward(times.forward_s.size(), 0.0);
  const bool splits = has_weight_grads(schedule);
  double latest = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& actions : schedule.ranks) {
      double clock = 0;
      for (const schedule::Action& action : actions) {
        const std::int32_t s = action.stage.value();
        const std::size_t cell = times.index(action.micro_batch.value(), s);
        const bool is_forward = action.kind == schedule::ActionKind::kForward;
        if (action.kind == schedule::ActionKind::kWeightGrad) {
          clock += times.weight_grad_s[cell];
          latest = std::max(latest, clock);
          continue;
        }
        double start = clock;
        if (is_forward && s > 0) {
          start = std::max(start, forward[cell - 1] + times.activation_s[cell - 1]);
        }
        if (!is_forward && s + 1 < times.num_stages) {
          start = std::max(start, backward[cell + 1] + times.gradient_s[cell]);
        }
        const double whole = times.recompute_s[cell] + times.backward_s[cell];
        const double seconds = is_forward ? times.forward_s[cell]
                               : splits   ? whole - times.weight_grad_s[cell]
                                          : whole;
        clock = start + seconds;
        double& end = is_forward ? forward[cell] : backward[cell];
        moved = moved || clock != end;
        end = clock;
        latest = std::max(latest, clock);
      }
    }
  }
  return latest;
}

TEST(SimulateProperty, EqualsAnIndependentLongestPath) {
  PhiloxRng rng(31, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const Schedule s = random_schedule(rng);
    const PipelineTimes times = random_times(rng, s.num_stages, s.num_micro_batches);
    const CompiledSchedule compiled = *compile(s);
    EXPECT_DOUBLE_EQ(makespan(compiled, times), makespan_by_relaxation(s, times));
    EXPECT_EQ(simulate(compiled, times).makespan_s, makespan(compiled, times));
  }
}

TEST(SimulateProperty, IntervalsFollowTheListsAndNeverOverlap) {
  PhiloxRng rng(32, RngStream::kTest);
  for (int i = 0; i < 100; ++i) {
    const Schedule s = random_schedule(rng);
    const Timeline timeline =
        simulate(*compile(s), random_times(rng, s.num_stages, s.num_micro_batches));
    for (std::size_t rank = 0; rank < s.ranks.size(); ++rank) {
      ASSERT_EQ(timeline.ranks[rank].size(), s.ranks[rank].size());
      double before = 0;
      for (std::size_t k = 0; k < s.ranks[rank].size(); ++k) {
        const Interval& interval = timeline.ranks[rank][k];
        EXPECT_EQ(interval.action, s.ranks[rank][k]);
        EXPECT_GE(interval.start_s, before);
        EXPECT_GE(interval.end_s, interval.start_s);
        before = interval.end_s;
      }
    }
  }
}

/// Gradients of a stage are done with its last action, wherever that stands in the rank's list.
TEST(SimulateProperty, GradientsAreDoneWithTheLastActionOfTheirStage) {
  PhiloxRng rng(34, RngStream::kTest);
  for (int i = 0; i < 100; ++i) {
    const Schedule s = random_schedule(rng);
    const PipelineTimes times = random_times(rng, s.num_stages, s.num_micro_batches);
    const CompiledSchedule compiled = *compile(s);
    std::vector<double> expected(static_cast<std::size_t>(s.num_stages), 0.0);
    for (const auto& intervals : simulate(compiled, times).ranks) {
      for (const Interval& interval : intervals) {
        expected[static_cast<std::size_t>(interval.action.stage.value())] = interval.end_s;
      }
    }
    EXPECT_EQ(gradients_done(compiled, times), expected);
  }
}

TEST(SimulateProperty, TheBreakdownSumsToMakespanTimesDevices) {
  PhiloxRng rng(33, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const Schedule s = random_schedule(rng);
    std::vector<PipelineTimes> pipelines;
    const std::uint32_t dp = 1 + rng.below(4);
    for (std::uint32_t r = 0; r < dp; ++r) {
      pipelines.push_back(random_times(rng, s.num_stages, s.num_micro_batches));
    }
    const CompiledSchedule compiled = *compile(s);
    const StepEnd end = rng.below(2) == 0 ? StepEnd{} : random_end(rng, s.num_stages);
    const StepSimulation step = *simulate_step(compiled, pipelines, end);
    const Breakdown& b = step.breakdown;
    const double device_seconds = step.makespan_s * static_cast<double>(step.ranks.size());
    const double sum = b.useful_s + b.recompute_s + b.stage_imbalance_s + b.rank_imbalance_s +
                       b.bubble_s + b.communication_s;
    EXPECT_NEAR(sum, device_seconds, 1e-9 * device_seconds);
    for (const double part :
         {b.stage_imbalance_s, b.rank_imbalance_s, b.bubble_s, b.communication_s}) {
      EXPECT_GE(part, 0);
    }
    double idle = 0;
    double slowest = 0;
    for (const RankUse& rank : step.ranks) idle += rank.idle_s;
    for (const PipelineTimes& times : pipelines) {
      slowest = std::max(slowest, makespan(compiled, times));
    }
    EXPECT_TRUE(!end.empty() || step.makespan_s == slowest);
    EXPECT_GE(step.makespan_s, slowest);
    EXPECT_GE(b.communication_s, step.reduction_s);
    EXPECT_GE(step.reduction_s, 0);
    EXPECT_GE(b.useful_s, step.optimizer_s);
    EXPECT_NEAR(step.bubble_fraction, idle / device_seconds, 1e-12);
    EXPECT_NEAR(idle, device_seconds - b.useful_s - b.recompute_s, 1e-9 * device_seconds);
  }
}

}  // namespace
}  // namespace omnibal::simulate
