// SPDX-License-Identifier: Apache-2.0
// Linked once with threads and once with MPI, as communicator_test.cpp.
#include "omnibal/runtime/comm/process_groups.h"

#include <gtest/gtest.h>

#include "runtime/comm/ranks_under_test.h"

namespace omnibal::runtime {
namespace {

TEST(ProcessGroups, EveryAxisHasItsGroup) {
  for_each_world([](Communicator& world) -> Status {
    if (world.size() == 3) return {};
    const RankLayout layout = {.dp = world.size() >= 8 ? 2 : 1,
                               .pp = world.size() >= 2 ? 2 : 1,
                               .tp = world.size() >= 4 ? 2 : 1};
    OMNIBAL_ASSIGN(const ProcessGroups groups,
                   make_process_groups(world, layout, {0, layout.pp - 1}));
    const RankPlace place = place_of(world.rank(), layout);
    EXPECT_EQ(rank_of(place, layout), world.rank());
    EXPECT_EQ(groups.dp->rank(), place.dp);
    EXPECT_EQ(groups.dp->size(), layout.dp);
    EXPECT_EQ(groups.pp->rank(), place.pp);
    EXPECT_EQ(groups.pp->size(), layout.pp);
    EXPECT_EQ(groups.tp->rank(), place.tp);
    EXPECT_EQ(groups.tp->size(), layout.tp);
    EXPECT_EQ(groups.model->size(), layout.pp * layout.tp);
    EXPECT_EQ(groups.tie != nullptr, layout.pp > 1);
    EXPECT_TRUE(groups.tie == nullptr || groups.tie->rank() == place.pp);
    return {};
  });
}

TEST(ProcessGroups, ALayoutOfAnotherNumberOfRanksIsRefused) {
  for_each_world([](Communicator& world) -> Status {
    const auto groups = make_process_groups(world, {.dp = 1, .pp = 1, .tp = 5}, {});
    EXPECT_EQ(groups.error().code, ErrorCode::kSizesDoNotDivide);
    return {};
  });
}

TEST(RankLayout, TensorGroupsStandTogetherAndStagesFarthestApart) {
  const RankLayout layout = {.dp = 2, .pp = 2, .tp = 2};
  EXPECT_EQ(rank_of({.dp = 0, .pp = 0, .tp = 1}, layout), 1);
  EXPECT_EQ(rank_of({.dp = 1, .pp = 0, .tp = 0}, layout), 2);
  EXPECT_EQ(rank_of({.dp = 0, .pp = 1, .tp = 0}, layout), 4);
}

}  // namespace
}  // namespace omnibal::runtime
