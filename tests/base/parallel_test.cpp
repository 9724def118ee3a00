// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>

namespace omnibal {
namespace {

TEST(BaseParallel, EveryIndexOnceInChunksOfTheGrain) {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::int64_t n : {0, 1, 99, 100, 101, 1234}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
      std::atomic<bool> odd_chunk = false;
      parallel_for(n, 100, threads, [&](std::int64_t begin, std::int64_t end) {
        if (begin % 100 != 0 || (end != n && end != begin + 100)) odd_chunk = true;
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_FALSE(odd_chunk);
      for (const auto& count : visits) ASSERT_EQ(count, 1) << n << " " << threads;
    }
  }
}

double harmonic_sum(int threads) {
  return parallel_reduce(
      100'003, 64, threads, 0.0,
      [](std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += 1.0 / static_cast<double>(i + 1);
        return sum;
      },
      std::plus<>());
}

TEST(BaseParallel, ASumOfRealsIsTheSameForAnyNumberOfThreads) {
  const double one = harmonic_sum(1);
  EXPECT_NEAR(one, std::log(100'003.0) + 0.5772156649, 1e-4);
  EXPECT_EQ(harmonic_sum(2), one);
  EXPECT_EQ(harmonic_sum(7), one);
  EXPECT_EQ(harmonic_sum(0), one);
}

TEST(BaseParallel, ReduceCombinesInOrder) {
  for (const int threads : {1, 2, 7}) {
    const auto text = parallel_reduce(
        26, 3, threads, std::string(),
        [](std::int64_t begin, std::int64_t end) {
          std::string part;
          for (std::int64_t i = begin; i < end; ++i) part += static_cast<char>('a' + i);
          return part;
        },
        std::plus<>());
    EXPECT_EQ(text, "abcdefghijklmnopqrstuvwxyz");
  }
}

TEST(BaseParallel, ReduceOfNothingIsTheInitialValue) {
  const auto map = [](std::int64_t, std::int64_t) { return 5; };
  EXPECT_EQ(parallel_reduce(0, 8, 2, 3, map, std::plus<>()), 3);
}

TEST(BaseParallel, ZeroThreadsAreAllOfThem) {
  EXPECT_GE(resolve_threads(0), 1);
  EXPECT_EQ(resolve_threads(3), 3);
}

}  // namespace
}  // namespace omnibal
