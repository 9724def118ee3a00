// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>

#include "omnibal/base/philox.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

Schedule random_schedule(PhiloxRng& rng) {
  const ScheduleKind kind = rng.below(2) == 0 ? ScheduleKind::kGPipe : ScheduleKind::kOneFOneB;
  const auto stages = static_cast<std::int32_t>(1 + rng.below(7));
  const auto micro_batches = static_cast<std::int32_t>(1 + rng.below(12));
  Schedule schedule = *make_schedule(kind, stages, micro_batches);
  return rng.below(2) == 0 ? schedule : lower(schedule);
}

std::vector<Action>& random_rank(Schedule& schedule, PhiloxRng& rng) {
  return schedule.ranks[rng.below(static_cast<std::uint32_t>(schedule.ranks.size()))];
}

TEST(ScheduleProperty, EveryGeneratedScheduleIsValid) {
  PhiloxRng rng(1, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const Schedule schedule = random_schedule(rng);
    const Status status = validate(schedule);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
}

TEST(ScheduleProperty, InFlightIsTheFormula) {
  for (std::int32_t p = 1; p <= 6; ++p) {
    for (std::int32_t m = 1; m <= 9; ++m) {
      const Schedule one = *make_schedule(ScheduleKind::kOneFOneB, p, m);
      const Schedule all = *make_schedule(ScheduleKind::kGPipe, p, m);
      for (std::int32_t stage = 0; stage < p; ++stage) {
        EXPECT_EQ(in_flight(one, StageIndex{stage}), std::min(m, p - stage));
        EXPECT_EQ(in_flight(all, StageIndex{stage}), m);
      }
    }
  }
}

TEST(ScheduleProperty, ARemovedActionIsFound) {
  PhiloxRng rng(2, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    Schedule schedule = random_schedule(rng);
    std::vector<Action>& actions = random_rank(schedule, rng);
    actions.erase(actions.begin() + rng.below(static_cast<std::uint32_t>(actions.size())));
    EXPECT_FALSE(validate(schedule).ok());
  }
}

TEST(ScheduleProperty, ADuplicatedActionIsFound) {
  PhiloxRng rng(3, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    Schedule schedule = random_schedule(rng);
    std::vector<Action>& actions = random_rank(schedule, rng);
    const auto size = static_cast<std::uint32_t>(actions.size());
    const Action again = actions[rng.below(size)];
    actions.insert(actions.begin() + rng.below(size + 1), again);
    EXPECT_FALSE(validate(schedule).ok());
  }
}

TEST(ScheduleProperty, AnActionReplacedByAnotherIsFound) {
  PhiloxRng rng(4, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    Schedule schedule = random_schedule(rng);
    std::vector<Action>& actions = random_rank(schedule, rng);
    Action& changed = actions[rng.below(static_cast<std::uint32_t>(actions.size()))];
    const Action before = changed;
    changed.micro_batch = MicroBatchIndex{static_cast<std::int32_t>(
        rng.below(static_cast<std::uint32_t>(schedule.num_micro_batches)))};
    EXPECT_EQ(validate(schedule).ok(), changed == before);
  }
}

TEST(ScheduleProperty, AForwardSwappedWithItsBackwardIsFound) {
  PhiloxRng rng(5, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    Schedule schedule = random_schedule(rng);
    std::vector<Action>& actions = random_rank(schedule, rng);
    const auto forward = std::find_if(actions.begin(), actions.end(), [](const Action& a) {
      return a.kind == ActionKind::kForward;
    });
    const auto backward =
        std::find(actions.begin(), actions.end(),
                  Action{ActionKind::kBackward, forward->stage, forward->micro_batch});
    std::iter_swap(forward, backward);
    EXPECT_FALSE(validate(schedule).ok());
  }
}

}  // namespace
}  // namespace omnibal::schedule
