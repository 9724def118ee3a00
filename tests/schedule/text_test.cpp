// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "schedule/written.h"

namespace omnibal::schedule {
namespace {

TEST(ActionText, SaysStageKindAndMicroBatch) {
  const std::vector<std::string> expected = {"12F345",  "12B345",  "12W345", "12SF345",
                                             "12RF345", "12SB345", "12RB345"};
  for (int kind = 0; kind < kNumActionKinds; ++kind) {
    EXPECT_EQ(to_text({static_cast<ActionKind>(kind), StageIndex{12}, MicroBatchIndex{345}}),
              expected[static_cast<std::size_t>(kind)]);
  }
}

TEST(ActionText, OfAListTellsItApartFromEveryOther) {
  const Schedule lowered = lower(*make_schedule(ScheduleKind::kOneFOneB, 3, 5));
  for (const std::vector<Action>& actions : lowered.ranks) {
    EXPECT_EQ(actions_of(to_text(actions)), actions);
  }
  EXPECT_EQ(to_text(std::span<const Action>()), "");
}

}  // namespace
}  // namespace omnibal::schedule
