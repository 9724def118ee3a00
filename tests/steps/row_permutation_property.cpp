// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/row_permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

TEST(RowPermutationProperty, IsABijectionOfAnySize) {
  PhiloxRng rng(51, RngStream::kTest);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= 600; ++size) sizes.push_back(size);
  for (const std::int64_t size : {1023, 1024, 1025, 4096, 4097, 65535, 65536, 65537}) {
    sizes.push_back(size);
  }
  for (int i = 0; i < 20; ++i) sizes.push_back(600 + rng.below(50000));
  for (const std::int64_t size : sizes) {
    const RowPermutation order(size, {rng.next_u64(), rng.below(100)});
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t row = order(i);
      ASSERT_TRUE(row >= 0 && row < size) << size;
      ASSERT_FALSE(seen[static_cast<std::size_t>(row)]) << size;
      seen[static_cast<std::size_t>(row)] = true;
    }
  }
}

TEST(RowPermutationProperty, NeverMeetsItselfInRangesTooLargeToList) {
  const std::int64_t size = (std::int64_t{1} << 40) + 12345;
  const RowPermutation order(size, {7, 1});
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 20000; ++i) {
    const std::int64_t row = order(i * 54321);
    ASSERT_TRUE(row >= 0 && row < size);
    ASSERT_TRUE(seen.insert(row).second);
  }
}

TEST(RowPermutationProperty, OrdersOfFewRowsAreEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::uint32_t epoch = 0; epoch < 24000; ++epoch) {
    const RowPermutation order(4, {3, epoch});
    ++counts[{order(0), order(1), order(2), order(3)}];
  }
  ASSERT_EQ(counts.size(), 24U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0));
}

/// Where a row of 1,000 lands over many epochs, in ten classes: chi square of 9 degrees of freedom.
TEST(RowPermutationProperty, SpreadsEveryRowOverAllPlaces) {
  constexpr std::int64_t kSize = 1000;
  constexpr int kEpochs = 5000;
  for (const std::int64_t row : {0, 1, 499, 998, 999}) {
    std::vector<double> counts(10);
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      ++counts[static_cast<std::size_t>(RowPermutation(kSize, {1, epoch})(row) / 100)];
    }
    double chi_square = 0;
    for (const double count : counts) {
      chi_square += (count - kEpochs / 10.0) * (count - kEpochs / 10.0) / (kEpochs / 10.0);
    }
    EXPECT_LT(chi_square, 33.7) << row;  // exceeded once in 10,000
  }
}

/// Two random orders of n agree in one place on average, and neighbours do not stay neighbours.
TEST(RowPermutationProperty, EpochsAndSeedsDiffer) {
  constexpr std::int64_t kSize = 5000;
  const RowPermutation first(kSize, {1, 1});
  for (const PermutationKey key : {PermutationKey{1, 2}, PermutationKey{2, 1}, PermutationKey{1, 3},
                                   PermutationKey{std::uint64_t{1} << 32, 1}}) {
    const RowPermutation other(kSize, key);
    int agreeing = 0;
    int neighbours = 0;
    for (std::int64_t i = 0; i < kSize; ++i) {
      agreeing += first(i) == other(i) ? 1 : 0;
      if (i > 0) neighbours += other(i) == other(i - 1) + 1 ? 1 : 0;
    }
    EXPECT_LT(agreeing, 10);
    EXPECT_LT(neighbours, 10);
  }
}

}  // namespace
}  // namespace omnibal::steps
