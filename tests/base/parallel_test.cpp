// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

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

TEST(BaseParallel, EveryIndexOnceByItself) {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::size_t n : {0, 1, 13}) {
      std::vector<std::atomic<int>> visits(n);
      parallel_for_each(n, threads, [&](std::size_t i) { ++visits[i]; });
      for (const auto& count : visits) ASSERT_EQ(count, 1) << n << " " << threads;
    }
  }
}

}  // namespace
}  // namespace omnibal
