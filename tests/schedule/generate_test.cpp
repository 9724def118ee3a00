// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "schedule/written.h"

namespace omnibal::schedule {
namespace {

Schedule made(ScheduleKind kind, std::int32_t num_stages, std::int32_t num_micro_batches) {
  Result<Schedule> schedule = make_schedule(kind, num_stages, num_micro_batches);
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
  for (const ScheduleKind kind : {ScheduleKind::kGPipe, ScheduleKind::kOneFOneB}) {
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
