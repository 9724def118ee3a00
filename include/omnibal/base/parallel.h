// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops whose result does not depend on the number of threads: the range is cut into
// chunks of `grain` whatever runs them, and reductions combine the chunks in order of index.
//
//   parallel_for(n, 4096, threads, [&](int64_t begin, int64_t end) { ... });
//   const double total = parallel_reduce(n, 4096, threads, 0.0, sum_of_chunk, std::plus<>());
//
// Not for tasks that wait for each other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace omnibal {

/// `requested` threads, or as many as the machine has if it is 0.
int resolve_threads(int requested);

/// Calls `body(begin, end)` for the chunks of [0, n), at most `threads` (0: all) at a time.
/// `body` must not throw.
void parallel_for(std::int64_t n, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

/// init combined with map(begin, end) of every chunk, in order of index.
template <class T, class Map, class Combine>
T parallel_reduce(std::int64_t n, std::int64_t grain, int threads, T init, const Map& map,
                  const Combine& combine) {
  std::vector<T> parts(static_cast<std::size_t>(n > 0 ? (n + grain - 1) / grain : 0), init);
  parallel_for(n, grain, threads, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / grain)] = map(begin, end);
  });
  for (T& part : parts) init = combine(std::move(init), std::move(part));
  return init;
}

}  // namespace omnibal
