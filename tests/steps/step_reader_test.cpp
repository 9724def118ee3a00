// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/step_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "made_loads.h"

namespace omnibal::steps {
namespace {

using ::testing::HasSubstr;
using Packs = std::vector<std::int64_t>;

StepReader opened(const MadeSteps& made, const StepCursor& cursor) {
  auto reader = StepReader::open(made.source(), cursor);
  EXPECT_TRUE(reader.ok()) << to_text(reader.error());
  return *std::move(reader);
}

StepReader at_start(const MadeSteps& made) { return opened(made, first_step(made.source())); }

/// The next `count` steps.
std::vector<Packs> read(StepReader reader, std::int64_t count) {
  std::vector<Packs> steps;
  for (std::int64_t i = 0; i < count; ++i, reader.advance()) steps.push_back(reader.packs());
  return steps;
}

StepReader moved(StepReader reader, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) reader.advance();
  return reader;
}

MadeSteps small() { return made_steps(made_loads(101, 3, 1), {.dp = 8, .micro_batches = 2}); }

TEST(StepReader, C01ResumesAtEveryStepWithTheSameRemainingPacks) {
  const MadeSteps made = small();
  const std::vector<Packs> all = read(at_start(made), 21);
  for (std::int64_t k = 0; k < 21; ++k) {
    const StepCursor cursor = moved(at_start(made), k).cursor();
    EXPECT_EQ(read(opened(made, cursor), 21 - k), std::vector<Packs>(all.begin() + k, all.end()));
  }
}

TEST(StepReader, C03ResumesInTheSecondEpochInItsOwnOrder) {
  const MadeSteps made = small();
  const StepReader second = moved(at_start(made), 7 + 3);
  EXPECT_EQ(second.cursor().at, (StepPosition{1, 3}));
  EXPECT_EQ(read(opened(made, second.cursor()), 4), read(second, 4));
  EXPECT_NE(read(opened(made, {.at = {1, 3}, .ranks = {8, 2}, .changes = {}}), 1),
            read(opened(made, {.at = {0, 3}, .ranks = {8, 2}, .changes = {}}), 1));
}

TEST(StepReader, C04AnyReaderFindsTheSamePacksWhoeverReadBefore) {
  const MadeSteps made = small();
  const std::vector<Packs> stream = read(at_start(made), 21);
  for (const std::int64_t workers : {1, 3, 5}) {
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      for (std::int64_t i = worker; i < 21; i += workers) {
        const StepReader reader =
            opened(made, {.at = {i / 7, i % 7}, .ranks = {8, 2}, .changes = {}});
        EXPECT_EQ(reader.packs(), stream[static_cast<std::size_t>(i)]);
      }
    }
  }
}

// The released code resumes by skipping batches of another shuffle.
TEST(ReleasedFault, ResumingMidEpochTrainsNoPackTwiceAndNoneNever) {
  const MadeSteps made = small();
  Packs trained;
  StepReader reader = at_start(made);
  for (int step = 0; step < 7; ++step) {
    const Packs packs = reader.packs();
    trained.insert(trained.end(), packs.begin(), packs.end());
    reader.advance();
    reader = opened(made, reader.cursor());
  }
  const auto runs = runs_of(trained);
  EXPECT_EQ(runs.size(), 101U);
  EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& run) { return run.second == 1; }));
}

TEST(StepReader, D10TheSameBatchOnEightFourAndOneRanks) {
  const MadeSteps made = made_steps(made_loads(640, 3, 2), {.dp = 8, .micro_batches = 1});
  const StepReader eight = moved(at_start(made), 90);
  for (const RankSizes ranks : {RankSizes{4, 2}, RankSizes{2, 4}, RankSizes{1, 8}}) {
    const auto fewer = eight.on_ranks(ranks);
    ASSERT_TRUE(fewer.ok());
    EXPECT_EQ(fewer->steps_in_epoch(), eight.steps_in_epoch());
    EXPECT_TRUE(fewer->cursor().changes.empty());
    EXPECT_EQ(read(*fewer, 100), read(eight, 100));
    const auto back = fewer->on_ranks({8, 1});
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->cursor(), eight.cursor());
  }
}

TEST(StepReader, OtherRanksRunWhatHasNotRunAndThenAllOfEveryEpoch) {
  const MadeSteps made = small();
  for (const RankSizes ranks : {RankSizes{3, 4}, RankSizes{16, 2}, RankSizes{4, 2}}) {
    StepReader reader = at_start(made);
    Packs trained;
    for (int i = 0; i < 3; ++i, reader.advance()) {
      const Packs packs = reader.packs();
      trained.insert(trained.end(), packs.begin(), packs.end());
    }
    auto changed = reader.on_ranks(ranks);
    ASSERT_TRUE(changed.ok());
    EXPECT_EQ(changed->cursor().changes.size(), 1U);
    std::int64_t left = changed->steps_left(3);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      for (; changed->cursor().at.epoch == epoch; changed->advance()) {
        EXPECT_EQ(changed->steps_left(3), left--);
        const Packs packs = changed->packs();
        EXPECT_EQ(static_cast<std::int64_t>(packs.size()), ranks.dp * ranks.micro_batches);
        trained.insert(trained.end(), packs.begin(), packs.end());
      }
      const auto runs = runs_of(trained);
      EXPECT_EQ(runs.size(), 101U);
      EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& run) { return run.second == 1; }));
      trained.clear();
    }
    EXPECT_EQ(left, 0);
    EXPECT_EQ(changed->steps_left(3), 0);
  }
}

TEST(StepReader, RanksMayChangeAgainAndTheCursorStillLeadsThere) {
  const MadeSteps made = small();
  StepReader reader = moved(at_start(made), 2);
  for (const RankSizes ranks : {RankSizes{3, 4}, RankSizes{5, 2}, RankSizes{1, 10}}) {
    auto next = reader.on_ranks(ranks);
    ASSERT_TRUE(next.ok());
    reader = moved(*std::move(next), 1);
    EXPECT_EQ(read(opened(made, reader.cursor()), 30), read(reader, 30));
  }
  // On one rank with ten micro-batches the groups of five are split: no third change.
  EXPECT_EQ(reader.cursor().changes.size(), 2U);
  EXPECT_EQ(reader.cursor().at, (StepPosition{0, 5}));
}

TEST(StepReader, RanksOnWhichNoStepRanLeaveNoTrace) {
  const MadeSteps made = small();
  const StepReader reader = moved(at_start(made), 2);
  const auto there = reader.on_ranks({3, 4});
  ASSERT_TRUE(there.ok());
  const auto back = there->on_ranks({8, 2});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->cursor(), reader.cursor());
  const auto direct = reader.on_ranks({5, 2});
  ASSERT_TRUE(direct.ok());
  EXPECT_EQ(there->on_ranks({5, 2})->cursor(), direct->cursor());
}

TEST(StepReader, AtTheStartOfAnEpochOtherRanksGetThePlanOfTheirSize) {
  const MadeSteps made = small();
  const auto changed = at_start(made).on_ranks({5, 2});
  ASSERT_TRUE(changed.ok());
  const MadeSteps formed = made_steps(made.loads, {.dp = 5, .micro_batches = 2});
  EXPECT_EQ(read(*changed, 30), read(at_start(formed), 30));
}

TEST(StepReader, WithDropTooFewPacksForAStepEndTheEpoch) {
  const MadeSteps made =
      made_steps(made_loads(101, 3, 1), {.dp = 8, .micro_batches = 2, .tail = Tail::kDrop});
  const StepReader reader = moved(at_start(made), 5);
  const auto changed = reader.on_ranks({30, 1});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->cursor().at, (StepPosition{1, 0}));
}

TEST(StepReader, BehindTheLastStepBeginsTheNextEpoch) {
  const MadeSteps made = small();
  const StepReader reader = opened(made, {.at = {0, 7}, .ranks = {8, 2}, .changes = {}});
  EXPECT_EQ(reader.cursor().at, (StepPosition{1, 0}));
}

TEST(StepReader, CursorsOfPlacesThatAreNotAreRefused) {
  const MadeSteps made = small();
  const auto error_of = [&made](const StepCursor& cursor) {
    const auto reader = StepReader::open(made.source(), cursor);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().code, ErrorCode::kOutOfRange);
    return reader.error();
  };
  EXPECT_EQ(error_of({.at = {0, 8}, .ranks = {8, 2}, .changes = {}}).where.key, "step");
  EXPECT_EQ(error_of({.at = {0, -1}, .ranks = {8, 2}, .changes = {}}).where.key, "step");
  EXPECT_EQ(error_of({.at = {-1, 0}, .ranks = {8, 2}, .changes = {}}).where.key, "epoch");
  EXPECT_THAT(error_of({.at = {0, 1}, .ranks = {4, 2}, .changes = {}}).message,
              HasSubstr("do not split"));
  const SizeChange change{.at = {0, 2}, .sizes = {3, 4}};
  EXPECT_EQ(error_of({.at = {0, 1}, .ranks = {3, 4}, .changes = {change}}).where.key, "step");
  EXPECT_EQ(error_of({.at = {1, 0}, .ranks = {3, 4}, .changes = {change, change}}).where.key,
            "changes[1]");
  EXPECT_EQ(error_of({.at = {1, 0}, .ranks = {3, 4}, .changes = {{{0, 9}, {3, 4}}}}).where.key,
            "step");
  EXPECT_EQ(error_of({.at = {0, 0}, .ranks = {3, 4}, .changes = {{{1, 0}, {3, 4}}}}).where.key,
            "changes");
}

TEST(StepReader, RanksThatCannotBeAreRefused) {
  const MadeSteps made = small();
  const StepReader reader = at_start(made);
  EXPECT_EQ(reader.on_ranks({0, 2}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(reader.on_ranks({4, kLargestStep}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace omnibal::steps
