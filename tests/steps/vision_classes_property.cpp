// SPDX-License-Identifier: Apache-2.0
#include "steps/vision_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

/// Sum of (max - v) / max over groups of `size` of descending vision units.
double mixing(std::span<const std::int64_t> vision, std::size_t size) {
  double sum = 0;
  for (std::size_t row = 0; row < vision.size(); row += size) {
    for (std::size_t i = row; i < row + size; ++i) {
      if (vision[row] > 0) {
        sum += static_cast<double>(vision[row] - vision[i]) / static_cast<double>(vision[row]);
      }
    }
  }
  return sum;
}

/// The least mixing over all ways to leave out |vision| mod size packs.
double least_by_trying_all(const std::vector<std::int64_t>& vision, std::size_t size) {
  const std::size_t spare = vision.size() % size;
  double least = 1e9;
  for (std::uint32_t mask = 0; mask < (1U << vision.size()); ++mask) {
    if (static_cast<std::size_t>(std::popcount(mask)) != spare) continue;
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < vision.size(); ++i) {
      if ((mask >> i & 1U) == 0) kept.push_back(vision[i]);
    }
    std::ranges::sort(kept, std::greater());
    least = std::min(least, mixing(kept, size));
  }
  return least;
}

TEST(VisionClassesProperty, LeavesOutThePacksWhoseAbsenceMixesLeast) {
  PhiloxRng rng(71, RngStream::kTest);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t size = 2 + rng.below(4);
    std::vector<LoadedPack> packs(1 + rng.below(14));
    std::vector<std::int64_t> vision;
    for (LoadedPack& pack : packs) {
      vision.push_back(1 + rng.below(6));
      pack.load[kVisionUnits] = static_cast<float>(vision.back());
    }
    least_matching_last(packs, size);
    ASSERT_EQ(packs.size(), vision.size());
    std::vector<std::int64_t> kept;
    for (const LoadedPack& pack : std::span(packs).first(packs.size() / size * size)) {
      kept.push_back(static_cast<std::int64_t>(pack.load[kVisionUnits]));
    }
    std::ranges::sort(kept, std::greater());
    EXPECT_NEAR(mixing(kept, size), least_by_trying_all(vision, size), 1e-9) << trial;
  }
}

TEST(VisionClassesProperty, MovesTheMostTypicalPacksAndKeepsTheOrderOfTheOthers) {
  PhiloxRng rng(72, RngStream::kTest);
  const LoadedPack typical{{3, 3000, 4e6F}, 0};
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LoadedPack> packs(1 + rng.below(40));
    for (std::uint32_t i = 0; i < packs.size(); ++i) {
      packs[i] = {{3, static_cast<float>(2900 + 20 * rng.below(10)), 4e6F}, i};
    }
    const std::size_t count = rng.below(static_cast<std::uint32_t>(packs.size()) + 1);
    most_typical_last(packs, count, typical, {});
    const auto off = [&](const LoadedPack& pack) {
      return std::abs(pack.load[kTokens] - typical.load[kTokens]);
    };
    const std::span<LoadedPack> kept = std::span(packs).first(packs.size() - count);
    for (const LoadedPack& moved : std::span(packs).last(count)) {
      for (const LoadedPack& pack : kept) ASSERT_LE(off(moved), off(pack));
    }
    ASSERT_TRUE(std::ranges::is_sorted(kept, {}, &LoadedPack::pack));
    std::vector<bool> seen(packs.size());
    for (const LoadedPack& pack : packs) seen[pack.pack] = true;
    ASSERT_EQ(std::ranges::count(seen, true), static_cast<std::ptrdiff_t>(packs.size()));
  }
}

TEST(VisionClasses, TilesAreToldApartAndPatchesInBands) {
  const std::vector<metrics::PackLoad> loads = {{0, 1, 1},     {511, 1, 1},   {510, 1, 1},
                                                {10000, 1, 1}, {10015, 1, 1}, {10016, 1, 1}};
  std::vector<std::uint32_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0U);
  const VisionClasses classes = classify(order, loads);
  EXPECT_TRUE(classes.first_is_idle);
  EXPECT_EQ(classes.ends, (std::vector<std::size_t>{1, 2, 3, 5, 6}));
}

}  // namespace
}  // namespace omnibal::steps
