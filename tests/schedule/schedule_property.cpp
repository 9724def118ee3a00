// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "omnibal/base/philox.h"
#include "omnibal/schedule/layout.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

constexpr std::array kKinds = {ScheduleKind::kGPipe, ScheduleKind::kOneFOneB,
                               ScheduleKind::kInterleaved, ScheduleKind::kZbH1, ScheduleKind::kZbV};

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

/// Every kind with 1 to 8 ranks, 1 to 24 micro-batches and 2 to 4 chunks where it has any.
template <class Visit>
void for_all_sizes(const Visit& visit) {
  for (const ScheduleKind kind : kKinds) {
    const std::int32_t fewest = fewest_chunks(kind);
    const std::int32_t most = kind == ScheduleKind::kInterleaved ? 4 : fewest;
    for (std::int32_t chunks = fewest; chunks <= most; ++chunks) {
      for (std::int32_t p = 1; p <= 8; ++p) {
        for (std::int32_t m = 1; m <= 24; ++m) {
          visit(*make_schedule(kind, p * chunks, m, {.chunks = chunks}), p, m, chunks);
        }
      }
    }
  }
}

/// Executes lowered lists with letters in flight instead of dependencies: a send posts one, a
/// receive waits for its own and takes it away. Says what is wrong at the end; "" if nothing is.
class LetterBox {
 public:
  explicit LetterBox(const Schedule& schedule) : schedule_(schedule) {}

  std::string deliver() {
    std::vector<std::size_t> next(schedule_.ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < next.size(); ++rank) {
        const std::vector<Action>& actions = schedule_.ranks[rank];
        while (next[rank] < actions.size() && step(actions[next[rank]])) {
          ++next[rank];
          moved = true;
        }
      }
    }
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      if (next[rank] < schedule_.ranks[rank].size()) {
        return "stuck at " + to_text(schedule_.ranks[rank][next[rank]]);
      }
    }
    return letters_.empty() ? "" : "letters nobody takes";
  }

 private:
  using Letter = std::tuple<bool, std::int32_t, std::int32_t>;  // forward?, to stage, micro-batch

  bool remote(std::int32_t a, std::int32_t b) const {
    return schedule_.stage_rank[static_cast<std::size_t>(a)] !=
           schedule_.stage_rank[static_cast<std::size_t>(b)];
  }
  bool done(ActionKind kind, std::int32_t stage, const Action& like) const {
    return done_.contains(to_text({kind, StageIndex{stage}, like.micro_batch}));
  }
  /// Whether what a neighbour on the same or another rank made is here.
  bool has_input(const Action& a, std::int32_t from, ActionKind made, ActionKind received) const {
    if (from < 0 || from >= schedule_.num_stages) return true;
    return remote(from, a.stage.value()) ? done(received, a.stage.value(), a) : done(made, from, a);
  }
  bool can_run(const Action& a) const {
    const std::int32_t s = a.stage.value();
    switch (a.kind) {
      case ActionKind::kForward:
        return has_input(a, s - 1, ActionKind::kForward, ActionKind::kReceiveActivation);
      case ActionKind::kBackward:
        return done(ActionKind::kForward, s, a) &&
               has_input(a, s + 1, ActionKind::kBackward, ActionKind::kReceiveGradient);
      case ActionKind::kWeightGrad:
      case ActionKind::kSendGradient:
        return done(ActionKind::kBackward, s, a);
      case ActionKind::kSendActivation:
        return done(ActionKind::kForward, s, a);
      case ActionKind::kReceiveActivation:
        return letters_.contains({true, s, a.micro_batch.value()});
      case ActionKind::kReceiveGradient:
        return letters_.contains({false, s, a.micro_batch.value()});
    }
    return false;
  }
  bool step(const Action& a) {
    if (!can_run(a)) return false;
    const std::int32_t s = a.stage.value();
    const std::int32_t m = a.micro_batch.value();
    if (a.kind == ActionKind::kSendActivation) letters_.insert({true, s + 1, m});
    if (a.kind == ActionKind::kSendGradient) letters_.insert({false, s - 1, m});
    if (a.kind == ActionKind::kReceiveActivation) letters_.erase({true, s, m});
    if (a.kind == ActionKind::kReceiveGradient) letters_.erase({false, s, m});
    return done_.insert(to_text(a)).second;
  }

  const Schedule& schedule_;
  std::set<std::string> done_;
  std::set<Letter> letters_;
};

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

/// `schedule` with its vision stage in every place.
template <class Visit>
void for_all_places(const Schedule& schedule, const Visit& visit) {
  visit(with_vision_stage(schedule, {VisionPlace::kBefore}));
  visit(with_vision_stage(schedule, {VisionPlace::kNested}));
  for (std::int32_t q = 1; q <= 3; ++q) {
    visit(with_vision_stage(schedule, {VisionPlace::kApart, q}));
  }
}

TEST(ScheduleProperty, AVisionStageAnywhereIsValidAndEnds) {
  for_all_sizes([](const Schedule& language, std::int32_t p, std::int32_t m, std::int32_t) {
    if (m > 2 * p + 3) return;
    for_all_places(language, [&](const Schedule& schedule) {
      const Status status = validate(schedule);
      EXPECT_TRUE(status.ok()) << to_text(status.error());
      EXPECT_TRUE(validate(lower(schedule)).ok());
      EXPECT_EQ(LetterBox(lower(schedule)).deliver(), "")
          << to_string(schedule.kind) << " " << p << " " << m;
    });
  });
}

TEST(ScheduleProperty, NestedVisionHoldsFewRoundsAndBeforeHoldsAll) {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (std::int32_t m = 1; m <= 40; ++m) {
      const Schedule language = *make_schedule(ScheduleKind::kOneFOneB, p, m);
      const std::int64_t rounds = (m + p - 1) / p;
      EXPECT_EQ(in_flight(with_vision_stage(language, {VisionPlace::kBefore}))[0], rounds);
      EXPECT_LE(in_flight(with_vision_stage(language, {VisionPlace::kNested}))[0],
                std::min<std::int64_t>(rounds, 3));
    }
  }
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
