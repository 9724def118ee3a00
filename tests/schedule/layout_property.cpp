// SPDX-License-Identifier: Apache-2.0
#include "omnibal/schedule/layout.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "schedule/all_schedules.h"
#include "schedule/letter_box.h"

namespace omnibal::schedule {
namespace {

/// `schedule` with its vision stage in every place.
template <class Visit>
void for_all_places(const Schedule& schedule, const Visit& visit) {
  visit(with_vision_stage(schedule, {VisionPlace::kBefore}));
  visit(with_vision_stage(schedule, {VisionPlace::kNested}));
  for (std::int32_t q = 1; q <= 3; ++q) {
    visit(with_vision_stage(schedule, {VisionPlace::kApart, q}));
  }
}

TEST(LayoutProperty, AVisionStageAnywhereIsValidAndEnds) {
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

TEST(LayoutProperty, NestedVisionHoldsFewRoundsAndBeforeHoldsAll) {
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

}  // namespace
}  // namespace omnibal::schedule
