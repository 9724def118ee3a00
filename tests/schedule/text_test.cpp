// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

TEST(ActionText, EveryKindIsReadBack) {
  for (int kind = 0; kind < kNumActionKinds; ++kind) {
    const Action action{static_cast<ActionKind>(kind), StageIndex{12}, MicroBatchIndex{345}};
    const Result<Action> read = parse_action(to_text(action));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, action);
  }
}

TEST(ActionText, ListsAreReadBack) {
  const Schedule lowered = lower(*make_schedule(ScheduleKind::kOneFOneB, 3, 5));
  for (const std::vector<Action>& actions : lowered.ranks) {
    EXPECT_EQ(*parse_actions(to_text(actions)), actions);
  }
  EXPECT_TRUE(parse_actions("  ")->empty());
}

TEST(ActionText, RefusesWhatIsNoAction) {
  for (const char* text : {"", "F", "2F", "F0", "2X0", "2F0x", "-1F0", "2F-1", "2F0 ", "2f0",
                           "99999999999F0", "2FF0", "2 F0"}) {
    const Result<Action> read = parse_action(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(parse_actions("2F0 oops 2B0").ok());
}

}  // namespace
}  // namespace omnibal::schedule
