// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/isf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "pack/placement.h"

namespace omnibal::pack {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> all(const TestSamples& samples) {
  std::vector<std::uint32_t> ids(samples.tokens.size());
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

Packs pack_all(const TestSamples& samples, const PackLimits& limits, std::uint64_t seed = 0) {
  return pack_isf(samples.columns(), all(samples), limits, seed);
}

TEST(PackIsf, PlacesEverySampleExactlyOnce) {
  TestSamples samples;
  for (std::uint32_t i = 0; i < 1000; ++i) samples.add(1 + i % 5, 100 + i);
  const Packs packs = pack_all(samples, PackLimits::with_paper_floors(9, 4096));
  EXPECT_EQ(placement_fault(packs.view(), all(samples)), "");
}

TEST(PackIsf, NothingGivesNoPack) {
  const Packs packs = pack_isf({}, {}, PackLimits::with_paper_floors(9, 4096), 0);
  EXPECT_EQ(packs.size(), 0);
  EXPECT_THAT(packs.offsets, ElementsAre(0));
}

TEST(PackIsf, FillsAPackExactlyToBothCaps) {
  TestSamples samples;
  samples.add(4, 2048);
  samples.add(5, 2048);
  EXPECT_EQ(pack_all(samples, PackLimits::with_paper_floors(9, 4096)).size(), 1);
}

TEST(PackIsf, FiltersInAllRoundsButTheLast) {
  // Floors out of reach: round 1 keeps nothing, so a single round and many give whole pools.
  TestSamples samples;
  samples.add(1, 10, 7);
  PackLimits limits{.vision_cap = 3, .token_cap = 1000, .vision_floor = 4, .token_floor = 1001};
  for (const std::int64_t rounds : {1, 2, 9}) {
    limits.rounds = rounds;
    const Packs packs = pack_all(samples, limits);
    EXPECT_EQ(placement_fault(packs.view(), all(samples)), "");
    EXPECT_EQ(packs.size(), 3) << rounds << " rounds";  // 3 + 3 + 1
  }
}

TEST(PackIsf, MoreRoundsFillPacksBetter) {
  PhiloxRng rng(5, RngStream::kTest);
  const TestSamples samples = random_samples(rng, 5000, 0, 1500);
  PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  limits.rounds = 1;
  const std::int64_t once = pack_all(samples, limits).size();
  limits.rounds = 50;
  const std::int64_t often = pack_all(samples, limits).size();
  EXPECT_LT(often, 0.95 * static_cast<double>(once));
}

TEST(PackIsf, TheLastOpenGroupIsFilteredLikeAnyOther) {
  // 3 samples, two fit a pack; whatever the order round 1 leaves one below the floor. With two
  // rounds it must come back alone, not be merged, lost or kept early as a duplicate.
  TestSamples samples;
  samples.add(0, 50, 3);
  const PackLimits limits{
      .vision_cap = 1, .token_cap = 100, .vision_floor = 1, .token_floor = 100, .rounds = 2};
  const Packs packs = pack_all(samples, limits);
  EXPECT_THAT(packs.offsets, ElementsAre(0, 2, 3));
}

TEST(PackIsf, ACapOnSamplesClosesAGroupForGood) {
  TestSamples samples;
  samples.add(0, 1, 10);
  PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  limits.max_samples = 4;
  EXPECT_THAT(pack_all(samples, limits).offsets, ElementsAre(0, 4, 8, 10));
}

TEST(PackIsf, RoundingUpStaysInsideTheCap) {
  TestSamples samples;
  samples.add(0, 33, 40);
  PackLimits limits = PackLimits::with_paper_floors(9, 100);
  EXPECT_EQ(pack_all(samples, limits).size(), 14);  // 3 * 33 = 99
  limits.token_multiple = 16;                       // 99 would become 112
  EXPECT_EQ(pack_all(samples, limits).size(), 20);
}

TEST(PackIsf, TheSeedDecidesAndNothingElse) {
  PhiloxRng rng(6, RngStream::kTest);
  const TestSamples samples = random_samples(rng, 500, 5, 1500);
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  const Packs first = pack_all(samples, limits, 1);
  const Packs again = pack_all(samples, limits, 1);
  const Packs other = pack_all(samples, limits, 2);
  EXPECT_EQ(first.samples, again.samples);
  EXPECT_EQ(first.offsets, again.offsets);
  EXPECT_NE(first.samples, other.samples);
}

TEST(PackIsf, WideCapsUseWideItems) {
  TestSamples samples;
  samples.add(70000, 100000, 4);
  const Packs packs = pack_all(samples, PackLimits::with_paper_floors(140000, 1 << 20));
  EXPECT_THAT(packs.offsets, ElementsAre(0, 2, 4));
}

TEST(PackIsf, EndsEarlyOnceThePoolIsEmpty) {
  TestSamples samples;
  samples.add(1, 4096, 5);
  PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  limits.rounds = kLargestCap;
  std::int64_t rounds = 0;
  const Packs packs =
      pack_isf(samples.columns(), all(samples), limits, 0,
               [&rounds](std::string_view, std::int64_t, std::int64_t) { ++rounds; });
  EXPECT_EQ(packs.size(), 5);
  EXPECT_EQ(rounds, 1);
}

}  // namespace
}  // namespace omnibal::pack
