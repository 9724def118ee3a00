// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/philox.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace omnibal {
namespace {

using Block = std::array<std::uint32_t, 4>;

/// Philox4x32-10 written down from the paper (Salmon et al., SC 2011), sharing nothing with the
/// library's.
Block philox(Block counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

// Known answers of Random123 (kat_vectors, philox4x32 10).
TEST(BasePhilox, TheReferenceGivesTheKnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              testing::ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
              testing::ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              testing::ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(BasePhilox, DrawsTheBlocksOfItsSeedStreamAndSubstreamInOrder) {
  const std::uint64_t seed = 0x0123456789abcdef;
  PhiloxRng rng(seed, RngStream::kPackShuffle, 77);
  for (std::uint32_t block = 0; block < 40; ++block) {
    const Block expected = philox({block, 0, 3, 77}, {0x89abcdef, 0x01234567});
    for (const std::uint32_t number : expected) ASSERT_EQ(rng.next_u32(), number) << block;
  }
}

TEST(BasePhilox, WideNumbersAreTwoNarrowOnesHighFirst) {
  PhiloxRng narrow(5, RngStream::kTest);
  PhiloxRng wide(5, RngStream::kTest);
  const std::uint64_t high = narrow.next_u32();
  EXPECT_EQ(wide.next_u64(), high << 32 | narrow.next_u32());
}

TEST(BasePhilox, SeedsStreamsAndSubstreamsDiffer) {
  const auto first = [](std::uint64_t seed, RngStream stream, std::uint32_t substream) {
    return PhiloxRng(seed, stream, substream).next_u64();
  };
  std::vector<std::uint64_t> numbers = {
      first(1, RngStream::kTest, 0), first(2, RngStream::kTest, 0),
      first(1, RngStream::kStepOrder, 0), first(1, RngStream::kTest, 1),
      first(std::uint64_t{1} << 32, RngStream::kTest, 0)};
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TEST(BasePhilox, BelowStaysInRangeAndIsUnbiased) {
  PhiloxRng rng(0, RngStream::kTest);
  for (const std::uint32_t bound : {1U, 2U, 3U, 6U, 1000U, 0x80000001U, ~0U}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(rng.below(bound), bound);
  }
  // 2/3 of 2^32: taking the remainder would favour the lower half by 2 to 1.
  constexpr std::uint32_t kBound = 0xaaaaaaab;
  constexpr int kDraws = 100'000;
  int low = 0;
  for (int i = 0; i < kDraws; ++i) low += rng.below(kBound) < kBound / 2 ? 1 : 0;
  EXPECT_NEAR(low, kDraws / 2, 5 * std::sqrt(kDraws / 4.0));
}

TEST(BasePhilox, BelowHitsEveryValueEquallyOften) {
  PhiloxRng rng(1, RngStream::kTest);
  constexpr int kDraws = 60'000;
  std::array<int, 6> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[rng.below(6)];
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / 6.0, 2) / (kDraws / 6.0);
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, p = 0.001
}

TEST(BasePhilox, UniformAndNormalHaveTheirMoments) {
  PhiloxRng rng(2, RngStream::kTest);
  constexpr int kDraws = 100'000;
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = rng.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    const double normal = rng.normal();
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * 0.289 / std::sqrt(kDraws));
  EXPECT_NEAR(normal_sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(normal_squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
}

TEST(BasePhilox, ShuffleMakesEveryOrderEquallyLikely) {
  std::array<int, 24> counts{};
  constexpr int kRounds = 24'000;
  PhiloxRng rng(3, RngStream::kTest);
  for (int round = 0; round < kRounds; ++round) {
    std::array<int, 4> items = {0, 1, 2, 3};
    shuffle(std::span<int>(items), rng);
    int order = 0;  // Lehmer code
    for (std::size_t i = 0; i < 4; ++i) {
      const auto smaller = std::count_if(items.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                         items.end(), [&](int x) { return x < items[i]; });
      order = order * (4 - static_cast<int>(i)) + static_cast<int>(smaller);
    }
    ++counts[static_cast<std::size_t>(order)];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - 1000.0, 2) / 1000.0;
  EXPECT_LT(chi_square, 49.7);  // 23 degrees of freedom, p = 0.001
}

}  // namespace
}  // namespace omnibal
