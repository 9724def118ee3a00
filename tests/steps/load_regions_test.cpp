// SPDX-License-Identifier: Apache-2.0
#include "steps/load_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "omnibal/base/philox.h"
#include "steps/alike_groups.h"
#include "steps/load_split.h"
#include "steps/window_groups.h"

namespace omnibal::steps {
namespace {

std::vector<LoadedPack> scattered(std::uint32_t n, std::uint64_t seed) {
  PhiloxRng rng(seed, RngStream::kTest);
  std::vector<LoadedPack> packs;
  for (std::uint32_t i = 0; i < n; ++i) {
    packs.push_back({{9, static_cast<float>(2000 + rng.below(2000)),
                      static_cast<float>(1000000 + rng.below(5000000))},
                     i});
  }
  return packs;
}

TEST(LoadSplit, CutsTheLoadWhoseLargestValuesCostMost) {
  // Tokens spread evenly over half their range; one pack in four has ten times the attention.
  std::vector<LoadedPack> packs;
  for (std::uint32_t i = 0; i < 64; ++i) {
    packs.push_back({{4, 2000.0F + 30.0F * static_cast<float>(i), i % 4 == 0 ? 1e7F : 1e6F}, i});
  }
  const LoadSplit split = best_split(packs, {});
  EXPECT_EQ(split.load, kTokenPairs);
  EXPECT_EQ(split.light, 48U);
  EXPECT_TRUE(split.at > 1e6F && split.at <= 1e7F);
}

TEST(LoadSplit, EqualPacksCannotBeCut) {
  const std::vector<LoadedPack> packs(10, LoadedPack{{4, 2000, 1e6F}, 0});
  EXPECT_EQ(best_split(packs, {}).gain, 0);
}

TEST(LoadSplit, DoesNotDependOnTheOrder) {
  std::vector<LoadedPack> packs = scattered(1000, 1);
  const LoadSplit split = best_split(packs, {});
  std::ranges::reverse(packs);
  const LoadSplit reversed = best_split(packs, {});
  EXPECT_EQ(reversed.load, split.load);
  EXPECT_EQ(reversed.at, split.at);
  EXPECT_EQ(reversed.gain, split.gain);
}

TEST(LoadRegions, AGroupIsCompleteInOneRegion) {
  const std::vector<LoadedPack> packs = scattered(1000, 2);
  std::vector<std::uint32_t> links(packs.size());
  LoadRegions regions(packs, 16, 8, {}, links);
  std::vector<std::uint32_t> group(8);
  std::size_t groups = 0;
  for (std::uint32_t i = 0; i < packs.size(); ++i) {
    const auto region = regions.add(packs[i], i);
    if (!region) continue;
    regions.take(*region, group);
    ++groups;
    EXPECT_EQ(regions.waiting(), i + 1 - 8 * groups);
    float least = 1e9F;
    float most = 0;
    for (const std::uint32_t id : group) {
      least = std::min(least, packs[id].load[kTokens]);
      most = std::max(most, packs[id].load[kTokens]);
    }
    EXPECT_LT(most - least, 1500);
  }
  EXPECT_GT(groups, 1000U / 8 - 16);
}

TEST(LoadRegions, AFullWindowGivesUpTheFullestPart) {
  std::vector<LoadedPack> packs = scattered(64, 3);
  std::vector<std::uint32_t> links(packs.size());
  LoadRegions regions(packs, 64, 8, {}, links);
  for (std::uint32_t i = 0; i < packs.size(); ++i) ASSERT_FALSE(regions.add(packs[i], i));
  std::vector<std::uint32_t> taken;
  std::vector<std::uint32_t> group(8);
  while (regions.waiting() >= 8) {
    regions.take(regions.fullest_region(), group);
    taken.insert(taken.end(), group.begin(), group.end());
  }
  std::ranges::sort(taken);
  std::vector<std::uint32_t> all(64);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(taken, all);
}

/// Sum over groups of 8 of how far tokens lie below the largest.
double waiting_tokens(const std::vector<LoadedPack>& packs, const std::vector<std::int64_t>& ids) {
  double sum = 0;
  for (std::size_t row = 0; row < ids.size(); row += 8) {
    float most = 0;
    for (std::size_t i = row; i < row + 8; ++i) {
      most = std::max(most, packs[static_cast<std::size_t>(ids[i])].load[kTokens]);
    }
    for (std::size_t i = row; i < row + 8; ++i) {
      sum += static_cast<double>(most - packs[static_cast<std::size_t>(ids[i])].load[kTokens]);
    }
  }
  return sum;
}

TEST(WindowGroups, WaitingForItsLikeBeatsWindowsCutOneByOne) {
  const std::vector<LoadedPack> packs = scattered(32000, 4);
  const auto grouped = [&packs](std::size_t begin, std::size_t count, std::size_t window,
                                std::vector<std::int64_t>& ids) {
    std::vector<LoadedPack> some(packs.begin() + static_cast<std::ptrdiff_t>(begin),
                                 packs.begin() + static_cast<std::ptrdiff_t>(begin + count));
    group_in_windows(some, {.size = 8, .window = window}, {}, ids);
  };
  std::vector<std::int64_t> waiting;
  grouped(0, 32000, 100, waiting);
  std::vector<std::int64_t> one_by_one;
  for (std::size_t begin = 0; begin < 32000; begin += 800) grouped(begin, 800, 0, one_by_one);
  EXPECT_LT(waiting_tokens(packs, waiting), 0.8 * waiting_tokens(packs, one_by_one));
  std::ranges::sort(waiting);
  for (std::int64_t i = 0; i < 32000; ++i) ASSERT_EQ(waiting[static_cast<std::size_t>(i)], i);
}

TEST(WindowGroups, PacksUnlikeTheSampleStillFindGroups) {
  std::vector<LoadedPack> packs = scattered(2000, 5);
  for (std::size_t i = 1000; i < 2000; ++i) packs[i].load = {9, 4096.0F, 16e6F};
  std::vector<std::int64_t> ids;
  group_in_windows(packs, {.size = 8, .window = 4}, {}, ids);
  EXPECT_EQ(ids.size(), 2000U);
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

}  // namespace
}  // namespace omnibal::steps
