// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

#ifdef OMNIBAL_STD_THREADS
#include <atomic>
#else
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace omnibal {
namespace {

using ChunkBody = std::function<void(std::int64_t chunk)>;

/// `requested` threads, or as many as the machine has if it is 0.
int resolve_threads(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

#ifdef OMNIBAL_STD_THREADS
void run_chunks(std::int64_t num_chunks, int threads, const ChunkBody& body) {
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t chunk = next++; chunk < num_chunks; chunk = next++) body(chunk);
  };
  std::vector<std::thread> helpers;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, num_chunks); ++i) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}
#else
void run_chunks(std::int64_t num_chunks, int threads, const ChunkBody& body) {
  // More workers than the machine has would draw a warning from oneTBB on stderr.
  tbb::task_arena arena(std::min(threads, resolve_threads(0)));
  arena.execute(
      [&] { tbb::parallel_for(std::int64_t{0}, num_chunks, body, tbb::simple_partitioner()); });
}
#endif

}  // namespace

void parallel_for(std::int64_t n, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  const std::int64_t num_chunks = n > 0 ? (n + grain - 1) / grain : 0;
  const auto chunk_body = [&](std::int64_t chunk) {
    body(chunk * grain, std::min(n, (chunk + 1) * grain));
  };
  const int workers = resolve_threads(threads);
  if (workers == 1 || num_chunks <= 1) {
    for (std::int64_t chunk = 0; chunk < num_chunks; ++chunk) chunk_body(chunk);
  } else {
    run_chunks(num_chunks, workers, chunk_body);
  }
}

void parallel_for_each(std::size_t n, int threads,
                       const std::function<void(std::size_t index)>& body) {
  parallel_for(static_cast<std::int64_t>(n), 1, threads,
               [&](std::int64_t begin, std::int64_t) { body(static_cast<std::size_t>(begin)); });
}

}  // namespace omnibal
