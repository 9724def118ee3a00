// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "schedule/written.h"

namespace omnibal::schedule {
namespace {

Schedule made(ScheduleKind kind, std::int32_t num_stages, std::int32_t num_micro_batches) {
  Result<Schedule> schedule =
      make_schedule(kind, num_stages, num_micro_batches, {.chunks = fewest_chunks(kind)});
  EXPECT_TRUE(schedule.ok());
  return *std::move(schedule);
}

TEST(MakeSchedule, OneFOneBRunsOneForwardLessAheadOnEachStage) {
  const Schedule s = made(ScheduleKind::kOneFOneB, 3, 4);
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(to_text(s.ranks[1]), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  EXPECT_EQ(to_text(s.ranks[2]), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

TEST(MakeSchedule, OneFOneBWithFewerMicroBatchesThanStages) {
  const Schedule s = made(ScheduleKind::kOneFOneB, 4, 2);
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(to_text(s.ranks[3]), "3F0 3B0 3F1 3B1");
}

TEST(MakeSchedule, GPipeRunsBackwardsInTheOrderOfTheForwards) {
  const Schedule s = made(ScheduleKind::kGPipe, 2, 3);
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 0F1 0F2 0B0 0B1 0B2");
  EXPECT_EQ(to_text(s.ranks[1]), "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(MakeSchedule, InterleavedRunsItsChunksInGroups) {
  // Figure 4 of arXiv 2104.04473 with two ranks instead of four.
  const Schedule s = made(ScheduleKind::kInterleaved, 4, 4);
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  EXPECT_EQ(to_text(s.ranks[1]), "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

TEST(MakeSchedule, InterleavedDealsARemainderOutToTheGroups) {
  // Five micro-batches on two ranks: groups of two and three, not of two, two and one.
  const Schedule s = made(ScheduleKind::kInterleaved, 4, 5);
  EXPECT_EQ(to_text(s.ranks[1]),
            "1F0 1F1 3F0 3F1 3B0 1F2 3B1 1F3 1B0 1F4 1B1 3F2 3B2 3F3 3B3 3F4 3B4 1B2 1B3 1B4");
}

TEST(MakeSchedule, ZbH1DelaysWeightGradientsByTheRank) {
  const Schedule s = made(ScheduleKind::kZbH1, 3, 4);
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 0F1 0F2 0B0 0W0 0F3 0B1 0W1 0B2 0W2 0B3 0W3");
  EXPECT_EQ(to_text(s.ranks[1]), "1F0 1F1 1B0 1F2 1B1 1W0 1F3 1B2 1W1 1B3 1W2 1W3");
  EXPECT_EQ(to_text(s.ranks[2]), "2F0 2B0 2F1 2B1 2F2 2B2 2W0 2F3 2B3 2W1 2W2 2W3");
}

TEST(MakeSchedule, ZbVGoesDownAndComesBack) {
  const Schedule s = made(ScheduleKind::kZbV, 4, 4);
  EXPECT_EQ(to_text(s.ranks[0]),
            "0F0 0F1 0F2 3F0 3B0 3W0 3F1 3B1 3W1 0F3 0B0 0W0 3F2 3B2 3W2 0B1 0W1 3F3 3B3 3W3 "
            "0B2 0W2 0B3 0W3");
  EXPECT_EQ(to_text(s.ranks[1]),
            "1F0 2F0 1F1 2F1 2B0 2W0 1F2 1B0 1W0 2F2 2B1 2W1 1F3 1B1 1W1 2F3 2B2 2W2 1B2 2B3 1B3 "
            "1W2 2W3 1W3");
}

TEST(MakeSchedule, RefusesChunksThatTheKindDoesNotTake) {
  const auto refused = [](ScheduleKind kind, std::int32_t stages, std::int32_t chunks) {
    const Result<Schedule> schedule = make_schedule(kind, stages, 4, {.chunks = chunks});
    EXPECT_FALSE(schedule.ok());
    EXPECT_EQ(schedule.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(schedule.error().where.key, "chunks");
    return schedule.error().message;
  };
  EXPECT_EQ(refused(ScheduleKind::kOneFOneB, 4, 2), "1f1b runs 1 stage a rank, not 2");
  EXPECT_EQ(refused(ScheduleKind::kZbH1, 4, 0), "zb-h1 runs 1 stage a rank, not 0");
  EXPECT_EQ(refused(ScheduleKind::kZbV, 4, 1), "zb-v runs 2 stages a rank, not 1");
  EXPECT_EQ(refused(ScheduleKind::kInterleaved, 4, 1),
            "interleaved runs at least 2 stages a rank, not 1");
  EXPECT_EQ(refused(ScheduleKind::kInterleaved, 4, 3), "4 stages cannot be dealt out as 3 a rank");
  EXPECT_EQ(refused(ScheduleKind::kInterleaved, 2, 4), "2 stages cannot be dealt out as 4 a rank");
}

TEST(MakeSchedule, RefusesNothingToDo) {
  EXPECT_EQ(make_schedule(ScheduleKind::kGPipe, 0, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(make_schedule(ScheduleKind::kGPipe, 1, 0).error().code, ErrorCode::kInvalidArgument);
}

TEST(MakeSchedule, RefusesMoreActionsThanItSupports) {
  const Error error = make_schedule(ScheduleKind::kOneFOneB, 1 << 20, 1 << 20).error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(std::get<std::int64_t>(error.value), std::int64_t{1} << 41);
  EXPECT_EQ(std::get<std::int64_t>(error.limit), kMaxActions);
  EXPECT_FALSE(make_schedule(ScheduleKind::kGPipe, 129, 1 << 14).ok());
}

TEST(ScheduleKind, NamesAreReadBack) {
  for (const ScheduleKind kind :
       {ScheduleKind::kGPipe, ScheduleKind::kOneFOneB, ScheduleKind::kInterleaved,
        ScheduleKind::kZbH1, ScheduleKind::kZbV}) {
    EXPECT_EQ(*parse_schedule_kind(to_string(kind)), kind);
  }
  const Result<ScheduleKind> wrong = parse_schedule_kind("2f2b");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().hint, testing::HasSubstr("gpipe"));
}

TEST(Lower, PutsReceivesBeforeAndSendsBehind) {
  const Schedule lowered = lower(made(ScheduleKind::kOneFOneB, 3, 1));
  EXPECT_EQ(to_text(lowered.ranks[0]), "0F0 0SF0 0RB0 0B0");
  EXPECT_EQ(to_text(lowered.ranks[1]), "1RF0 1F0 1SF0 1RB0 1B0 1SB0");
  EXPECT_EQ(to_text(lowered.ranks[2]), "2RF0 2F0 2B0 2SB0");
}

TEST(Lower, NeedsNoTransferBetweenStagesOfOneRank) {
  Schedule s = made(ScheduleKind::kGPipe, 2, 1);
  s.stage_rank = {RankIndex{0}, RankIndex{0}};
  s.ranks = {actions_of("0F0 1F0 1B0 0B0")};
  ASSERT_TRUE(validate(s).ok());
  EXPECT_EQ(to_text(lower(s).ranks[0]), "0F0 1F0 1B0 0B0");
}

TEST(Lower, TransfersRoundTheRingButNotAtTheTurn) {
  const Schedule ring = lower(made(ScheduleKind::kInterleaved, 4, 1));
  EXPECT_EQ(to_text(ring.ranks[0]), "0F0 0SF0 2RF0 2F0 2SF0 2RB0 2B0 2SB0 0RB0 0B0");
  const Schedule turn = lower(made(ScheduleKind::kZbV, 4, 1));
  EXPECT_EQ(to_text(turn.ranks[1]), "1RF0 1F0 2F0 2SF0 2RB0 2B0 2W0 1B0 1SB0 1W0");
}

TEST(InFlight, OfASplitBackwardLastsUntilTheWeightGradient) {
  const Schedule s = made(ScheduleKind::kZbH1, 3, 8);
  EXPECT_EQ(in_flight(s), (std::vector<std::int64_t>{3, 3, 3}));
  EXPECT_EQ(awaiting_weight_grad(s), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(awaiting_weight_grad(made(ScheduleKind::kOneFOneB, 3, 8)),
            (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(InFlight, OfARankIsLessThanTheSumOverItsStages) {
  const Schedule s = made(ScheduleKind::kZbV, 4, 8);
  EXPECT_EQ(in_flight(s), (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(in_flight_of_ranks(s), (std::vector<std::int64_t>{4, 4}));
}

TEST(InFlight, FollowsTheSchedule) {
  EXPECT_EQ(in_flight(made(ScheduleKind::kOneFOneB, 4, 32)),
            (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(in_flight(made(ScheduleKind::kOneFOneB, 4, 2)),
            (std::vector<std::int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(in_flight(made(ScheduleKind::kGPipe, 2, 8)), (std::vector<std::int64_t>{8, 8}));
  EXPECT_EQ(in_flight(lower(made(ScheduleKind::kOneFOneB, 4, 32)), StageIndex{1}), 3);
}

}  // namespace
}  // namespace omnibal::schedule
