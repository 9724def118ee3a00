// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/epoch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "made_loads.h"

namespace omnibal::steps {
namespace {

using ::testing::HasSubstr;

TEST(EpochOrder, EpochZeroIsTheTable) {
  const MadeSteps made = made_steps(made_loads(101, 3, 1), {.dp = 8, .micro_batches = 2});
  const auto pool = group_pool(made.table, 101, Tail::kZeroWeight);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(epoch_of(*pool, 0, 0), made.table.pack_ids);
}

// The released code shuffles its second epoch with the first one's seed.
TEST(ReleasedFault, TheFirstReshuffleDoesNotRepeatTheFirstEpoch) {
  const MadeSteps made = made_steps(made_loads(800, 3, 2), {.dp = 8, .micro_batches = 2});
  const auto pool = group_pool(made.table, 800, Tail::kZeroWeight);
  ASSERT_TRUE(pool.ok());
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) orders.insert(epoch_of(*pool, 0, epoch));
  EXPECT_EQ(orders.size(), 5U);
  const std::vector<std::int64_t> second = epoch_of(*pool, 0, 1);
  int in_place = 0;
  for (std::size_t i = 0; i < second.size(); ++i) in_place += second[i] == made.table.pack_ids[i];
  EXPECT_LT(in_place, 40);  // about eight of 800 by chance: a row's packs, where it stays
}

TEST(EpochOrder, KeepsGroupsTogetherAndTurnsTheirRanks) {
  const MadeSteps made = made_steps(made_loads(800, 3, 3), {.dp = 8, .micro_batches = 4});
  const auto pool = group_pool(made.table, 800, Tail::kZeroWeight);
  ASSERT_TRUE(pool.ok());
  const auto groups_of = [](const std::vector<std::int64_t>& packs, bool sorted) {
    std::set<std::vector<std::int64_t>> groups;
    for (auto row = packs.begin(); row != packs.end(); row += 8) {
      std::vector<std::int64_t> group(row, row + 8);
      if (sorted) std::ranges::sort(group);
      groups.insert(group);
    }
    return groups;
  };
  const std::vector<std::int64_t> later = epoch_of(*pool, 0, 4);
  EXPECT_EQ(groups_of(later, true), groups_of(made.table.pack_ids, true));
  EXPECT_NE(groups_of(later, false), groups_of(made.table.pack_ids, false));
}

TEST(EpochOrder, IncompleteGroupsStayAtTheEnd) {
  const MadeSteps made = made_steps(made_loads(101, 3, 4), {.dp = 8, .micro_batches = 4});
  const auto pool = group_pool(made.table, 101, Tail::kZeroWeight);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->num_groups, 12);
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    const std::vector<std::int64_t> packs = epoch_of(*pool, 0, epoch);
    EXPECT_EQ(std::count(packs.begin(), packs.begin() + 96, kZeroWeightPack), 0);
    EXPECT_EQ(std::count(packs.begin() + 96, packs.end(), kZeroWeightPack), 27);
  }
}

TEST(EpochOrder, DropLeavesOutOtherPacksInEveryEpoch) {
  const MadeSteps made =
      made_steps(made_loads(101, 3, 5), {.dp = 8, .micro_batches = 3, .tail = Tail::kDrop});
  ASSERT_EQ(made.table.dropped.size(), 5U);
  const auto pool = group_pool(made.table, 101, Tail::kDrop);
  ASSERT_TRUE(pool.ok());
  std::map<std::int64_t, int> runs;
  for (std::uint32_t epoch = 0; epoch < 40; ++epoch) {
    for (const auto& [pack, count] : runs_of(epoch_of(*pool, 0, epoch))) {
      ASSERT_EQ(count, 1);
      ++runs[pack];
    }
  }
  EXPECT_EQ(runs.size(), 101U) << "no pack is left out in every epoch";
}

TEST(EpochOrder, RepeatRunsOtherPacksAgainInEveryEpoch) {
  const MadeSteps made =
      made_steps(made_loads(101, 3, 6), {.dp = 8, .micro_batches = 3, .tail = Tail::kRepeat});
  const auto pool = group_pool(made.table, 101, Tail::kRepeat);
  ASSERT_TRUE(pool.ok());
  std::set<std::set<std::int64_t>> repeated;
  for (std::uint32_t epoch = 0; epoch < 10; ++epoch) {
    std::set<std::int64_t> again;
    const auto runs = runs_of(epoch_of(*pool, 0, epoch));
    EXPECT_EQ(runs.size(), 101U);
    for (const auto& [pack, count] : runs) {
      EXPECT_LE(count, 2);
      if (count == 2) again.insert(pack);
    }
    EXPECT_EQ(again.size(), 19U);
    repeated.insert(again);
  }
  EXPECT_GT(repeated.size(), 5U);
}

TEST(GroupPool, ATableThatLosesOrDoublesAPackIsRefused) {
  const MadeSteps made = made_steps(made_loads(64, 2, 7), {.dp = 8, .micro_batches = 2});
  StepTable damaged = made.table;
  damaged.pack_ids[5] = damaged.pack_ids[50];
  const auto twice = group_pool(damaged, 64, Tail::kZeroWeight);
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::kInvalidPlan);
  EXPECT_THAT(twice.error().message, HasSubstr("runs in two groups"));
  damaged.pack_ids[5] = 64;
  EXPECT_THAT(group_pool(damaged, 64, Tail::kZeroWeight).error().message,
              HasSubstr("there are 64"));
  EXPECT_THAT(group_pool(made.table, 65, Tail::kZeroWeight).error().message,
              HasSubstr("pack 64 runs in no step"));
}

}  // namespace
}  // namespace omnibal::steps
