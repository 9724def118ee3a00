// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops whose result does not depend on the number of threads: the range is cut into
// chunks of `grain` whatever runs them.
//
//   parallel_for(n, 4096, threads, [&](int64_t begin, int64_t end) {
//     for (int64_t i = begin; i < end; ++i) seconds[i] = seconds_of(i);
//   });
//
// Not for tasks that wait for each other, and not for sums: add up in order of index afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace omnibal {

/// Calls `body(begin, end)` for the chunks of [0, n), at most `threads` (0: as many as the machine
/// has) at a time.
/// `body` must not throw.
void parallel_for(std::int64_t n, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

/// Calls `body(i)` for every i of [0, n), in the same way, each a chunk of its own: for few calls
/// that each take long. `body` must not throw.
void parallel_for_each(std::size_t n, int threads,
                       const std::function<void(std::size_t index)>& body);

}  // namespace omnibal
