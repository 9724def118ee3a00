// SPDX-License-Identifier: Apache-2.0
#include "omnibal/schedule/layout.h"

#include <gmock/gmock.h>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

Schedule one_f_one_b(std::int32_t stages, std::int32_t micro_batches) {
  return *make_schedule(ScheduleKind::kOneFOneB, stages, micro_batches);
}

TEST(Layout, BeforeAndBehindTheLanguagePipeline) {
  const Schedule s = with_vision_stage(one_f_one_b(2, 3), {VisionPlace::kBefore});
  EXPECT_EQ(s.num_stages, 3);
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 0F2 1F0 1F1 1B0 1F2 1B1 1B2 0B0 0B2");
  EXPECT_EQ(to_text(s.ranks[1]), "0F1 2F0 2B0 2F1 2B1 2F2 2B2 0B1");
}

/// Rank 0 takes up micro-batch 2 at 6 and has the gradients of 0 and 1 at 9; rank 1 runs 2B1 from 5
/// to 7 and pauses behind it.
TEST(Layout, NestedRanksPauseTogether) {
  const Schedule s = with_vision_stage(one_f_one_b(2, 4), {VisionPlace::kNested});
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 1F0 1F1 1B0 0F2 1F2 1B1 0B0 1F3 1B2 1B3 0B2");
  EXPECT_EQ(to_text(s.ranks[1]), "0F1 2F0 2B0 2F1 2B1 0F3 2F2 2B2 0B1 2F3 2B3 0B3");
}

TEST(Layout, ApartTheVisionRanksRunAhead) {
  const Schedule s = with_vision_stage(one_f_one_b(2, 4), {VisionPlace::kApart, 2});
  ASSERT_EQ(s.ranks.size(), 4u);
  EXPECT_EQ(to_text(s.ranks[0]), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  EXPECT_EQ(to_text(s.ranks[2]), "0F0 0F2 0B0 0B2");
  EXPECT_EQ(to_text(s.ranks[3]), "0F1 0F3 0B1 0B3");
  EXPECT_EQ(in_flight(s), (std::vector<std::int64_t>{2, 2, 1}));
}

TEST(Layout, TransfersFollowTheMicroBatch) {
  const Schedule s = lower(with_vision_stage(one_f_one_b(2, 2), {VisionPlace::kBefore}));
  EXPECT_EQ(to_text(s.ranks[0]), "0F0 1F0 1SF0 1RF1 1F1 1SF1 1RB0 1B0 1RB1 1B1 1SB1 0B0");
  EXPECT_EQ(to_text(s.ranks[1]), "0F1 0SF1 2RF0 2F0 2B0 2SB0 2RF1 2F1 2B1 2SB1 0RB1 0B1");
}

TEST(Layout, AnUnknownPlaceNamesThoseThereAre) {
  const auto place = parse_vision_place("nest");
  ASSERT_FALSE(place.ok());
  EXPECT_THAT(to_text(place.error()), testing::HasSubstr("nested"));
}

}  // namespace
}  // namespace omnibal::schedule
