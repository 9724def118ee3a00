// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "omnibal/base/philox.h"
#include "omnibal/schedule/schedule.h"
#include "schedule/all_schedules.h"
#include "schedule/letter_box.h"

namespace omnibal::schedule {
namespace {

Schedule random_schedule(PhiloxRng& rng) {
  const ScheduleKind kind = kKinds[rng.below(kKinds.size())];
  const std::int32_t chunks =
      fewest_chunks(kind) +
      (kind == ScheduleKind::kInterleaved ? static_cast<std::int32_t>(rng.below(3)) : 0);
  const auto ranks = static_cast<std::int32_t>(1 + rng.below(7));
  const auto micro_batches = static_cast<std::int32_t>(1 + rng.below(12));
  Schedule schedule = *make_schedule(kind, ranks * chunks, micro_batches, {.chunks = chunks});
  return rng.below(2) == 0 ? schedule : lower(schedule);
}

std::int32_t num_of(const Schedule& schedule, ActionKind kind) {
  std::int32_t count = 0;
  for (const std::vector<Action>& actions : schedule.ranks) {
    count += static_cast<std::int32_t>(std::ranges::count(actions, kind, &Action::kind));
  }
  return count;
}

std::vector<Action>& random_rank(Schedule& schedule, PhiloxRng& rng) {
  return schedule.ranks[rng.below(static_cast<std::uint32_t>(schedule.ranks.size()))];
}

TEST(ScheduleProperty, EveryGeneratedScheduleIsValid) {
  for_all_sizes([](const Schedule& schedule, std::int32_t p, std::int32_t m, std::int32_t chunks) {
    EXPECT_EQ(schedule.ranks.size(), static_cast<std::size_t>(p));
    for (const Schedule& lists : {schedule, lower(schedule)}) {
      const Status status = validate(lists);
      EXPECT_TRUE(status.ok()) << status.error().message;
      for (const ActionKind kind : {ActionKind::kForward, ActionKind::kBackward}) {
        EXPECT_EQ(num_of(lists, kind), p * chunks * m);
      }
      const bool splits =
          schedule.kind == ScheduleKind::kZbH1 || schedule.kind == ScheduleKind::kZbV;
      EXPECT_EQ(num_of(lists, ActionKind::kWeightGrad), splits ? p * chunks * m : 0);
    }
  });
}

TEST(ScheduleProperty, EverySendIsReceivedAndNobodyWaitsForEver) {
  for_all_sizes([](const Schedule& schedule, std::int32_t p, std::int32_t m, std::int32_t) {
    if (m > 2 * p + 3) return;  // a longer step only repeats its middle
    EXPECT_EQ(LetterBox(lower(schedule)).deliver(), "")
        << to_string(schedule.kind) << " " << p << " " << m;
  });
}

TEST(ScheduleProperty, StagesStandWhereTheKindPutsThem) {
  for_all_sizes([](const Schedule& schedule, std::int32_t p, std::int32_t, std::int32_t chunks) {
    for (std::int32_t s = 0; s < p * chunks; ++s) {
      const std::int32_t expected =
          schedule.kind == ScheduleKind::kZbV ? std::min(s, 2 * p - 1 - s) : s % p;
      EXPECT_EQ(schedule.stage_rank[static_cast<std::size_t>(s)].value(), expected);
    }
  });
}

/// Section 2.2.2 of arXiv 2104.04473: in flight are the warm-up and one more; groups are as even
/// as can be. Table 1 of arXiv 2401.10241: H1 holds p micro-batches; section 4 of arXiv 2405.15362:
/// so does V, as 2 p half stages.
TEST(ScheduleProperty, MemoryOfARankIsThePublishedOne) {
  for_all_sizes([](const Schedule& schedule, std::int32_t p, std::int32_t m, std::int32_t chunks) {
    const std::vector<std::int64_t> held = in_flight_of_ranks(schedule);
    const std::int32_t groups = std::max(1, m / p);
    const std::int32_t largest_group = (m + groups - 1) / groups;
    for (std::int32_t r = 0; r < p; ++r) {
      const std::int64_t of_rank = held[static_cast<std::size_t>(r)];
      switch (schedule.kind) {
        case ScheduleKind::kGPipe:
          EXPECT_EQ(of_rank, m);
          break;
        case ScheduleKind::kOneFOneB:
          EXPECT_EQ(of_rank, std::min(m, p - r));
          break;
        case ScheduleKind::kInterleaved:
          EXPECT_EQ(of_rank,
                    std::min(chunks * m, 2 * (p - 1 - r) + (chunks - 1) * largest_group + 1));
          break;
        case ScheduleKind::kZbH1:
          EXPECT_EQ(of_rank, std::min(m, p));
          EXPECT_EQ(awaiting_weight_grad(schedule)[static_cast<std::size_t>(r)],
                    std::min(m, r + 1));
          break;
        case ScheduleKind::kZbV:
          EXPECT_LE(of_rank, std::min(2 * m, 2 * p));
          EXPECT_TRUE(of_rank == 2 * p || r > 0 || m < 2 * p);
          break;
      }
    }
  });
}

TEST(ScheduleProperty, ARankHoldsAtMostTheSumOverItsStages) {
  for_all_sizes([](const Schedule& schedule, std::int32_t p, std::int32_t, std::int32_t) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(p), 0);
    const std::vector<std::int64_t> stages = in_flight(schedule);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      sums[static_cast<std::size_t>(schedule.stage_rank[s].value())] += stages[s];
    }
    const std::vector<std::int64_t> ranks = in_flight_of_ranks(schedule);
    for (std::size_t r = 0; r < ranks.size(); ++r) EXPECT_LE(ranks[r], sums[r]);
  });
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
