// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "schedule/written.h"

namespace omnibal::schedule {
namespace {

using testing::HasSubstr;

/// Two stages on two ranks, two micro-batches, as the two texts say.
Schedule written(const std::string& first, const std::string& second) {
  Schedule s = *make_schedule(ScheduleKind::kOneFOneB, 2, 2);
  s.ranks = {actions_of(first), actions_of(second)};
  return s;
}

std::string verdict(const Schedule& schedule) {
  const Status status = validate(schedule);
  if (status.ok()) return "valid";
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  return status.error().message;
}

TEST(ValidateSchedule, AcceptsAnyOrderThatEnds) {
  EXPECT_EQ(verdict(written("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1")), "valid");
  EXPECT_EQ(verdict(written("0F1 0F0 0B1 0B0", "1F1 1F0 1B0 1B1")), "valid");
}

TEST(ValidateSchedule, NamesAMissingAction) {
  EXPECT_THAT(verdict(written("0F0 0F1 0B0", "1F0 1B0 1F1 1B1")), HasSubstr("0B1 is missing"));
  EXPECT_THAT(verdict(written("0F0 0F1 0B0 0B1", "1F0 1B0 1B1")), HasSubstr("1F1 is missing"));
}

TEST(ValidateSchedule, NamesADuplicate) {
  EXPECT_THAT(verdict(written("0F0 0F1 0B0 0B1 0B1", "1F0 1B0 1F1 1B1")),
              HasSubstr("0B1 on rank 0 stands there twice"));
}

TEST(ValidateSchedule, NamesABackwardBeforeItsForward) {
  EXPECT_THAT(verdict(written("0B0 0F0 0F1 0B1", "1F0 1B0 1F1 1B1")),
              HasSubstr("0B0 stands before its forward"));
}

TEST(ValidateSchedule, NamesAnActionOfAnotherRankOrOutOfRange) {
  EXPECT_THAT(verdict(written("0F0 0F1 0B0 0B1 1F0", "1B0 1F1 1B1")),
              HasSubstr("rank 1 runs stage 1"));
  EXPECT_THAT(verdict(written("0F0 0F1 0B0 0B1 0F2", "1F0 1B0 1F1 1B1")),
              HasSubstr("0F2 on rank 0 is out of range"));
  EXPECT_THAT(verdict(written("0F0 0F1 0B0 0B1", "2F0 1F0 1B0 1F1 1B1")),
              HasSubstr("2F0 on rank 1 is out of range"));
}

TEST(ValidateSchedule, FindsADeadlock) {
  // Rank 0 wants 0B0 before it runs 0F1; rank 1 runs 1F1 before 1B0.
  EXPECT_THAT(verdict(written("0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1")),
              HasSubstr("rank 0 waits for ever at 0B0"));
}

TEST(ValidateSchedule, WantsMatchingTransfers) {
  Schedule s = lower(written("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"));
  ASSERT_EQ(verdict(s), "valid");
  Schedule without_send = s;
  std::erase(without_send.ranks[0], action_of("0SF1"));
  EXPECT_THAT(verdict(without_send), HasSubstr("0SF1 is missing"));
  Schedule without_receive = s;
  std::erase(without_receive.ranks[1], action_of("1RF0"));
  EXPECT_THAT(verdict(without_receive), HasSubstr("1RF0 is missing"));
  Schedule to_nowhere = s;
  to_nowhere.ranks[1].push_back(action_of("1SF0"));
  EXPECT_THAT(verdict(to_nowhere), HasSubstr("no partner"));
}

TEST(ValidateSchedule, WantsTheReceiveBeforeTheAction) {
  Schedule s = lower(written("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"));
  std::swap(s.ranks[1][0], s.ranks[1][1]);
  EXPECT_THAT(verdict(s), HasSubstr("rank 1 waits for ever at 1F0"));
}

TEST(ValidateSchedule, WantsAllWeightGradientsOrNone) {
  EXPECT_EQ(verdict(written("0F0 0F1 0B0 0W0 0B1 0W1", "1F0 1B0 1F1 1B1 1W0 1W1")), "valid");
  EXPECT_THAT(verdict(written("0F0 0F1 0B0 0W0 0B1", "1F0 1B0 1F1 1B1 1W0 1W1")),
              HasSubstr("0W1 is missing"));
  EXPECT_THAT(verdict(written("0F0 0F1 0W0 0B0 0B1 0W1", "1F0 1B0 1F1 1B1 1W0 1W1")),
              HasSubstr("waits for ever at 0W0"));
}

TEST(ValidateSchedule, WantsAShapeThatAgrees) {
  Schedule s = written("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1");
  s.stage_rank.pop_back();
  EXPECT_THAT(verdict(s), HasSubstr("1 of 2 stages"));
  s.stage_rank.push_back(RankIndex{2});
  EXPECT_THAT(verdict(s), HasSubstr("there is no rank 2"));
  EXPECT_THAT(verdict(Schedule{}), HasSubstr("no stages"));
}

}  // namespace
}  // namespace omnibal::schedule
