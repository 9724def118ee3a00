// SPDX-License-Identifier: Apache-2.0
//
// Prefetcher: loads packs in the background, in the order asked for, never more than a few ahead.
//
//   Prefetcher prefetcher(source, 4);
//   for (const std::int64_t pack : packs_of_the_next_steps) prefetcher.request(pack);
//   OMNIBAL_ASSIGN(const PackArrays pack, prefetcher.next());
//
// Not a shuffle and no dropping: an unreadable picture is the error of its own pack.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "omnibal/runtime/data/pack_source.h"

namespace omnibal::runtime {

class Prefetcher {
 public:
  /// `source` outlives this. `depth`: loaded packs that may wait, at least 1: host memory is
  /// bounded by depth + 1 packs.
  Prefetcher(const PackSource& source, std::size_t depth);
  /// Waits for the pack that is being loaded.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  void request(std::int64_t pack);
  /// Requested and not yet taken.
  std::size_t num_pending() const;
  /// The pack requested longest ago; waits until it is loaded, and tells so once a second. There
  /// must be one pending.
  Result<PackArrays> next(const std::function<void()>& on_wait = {});

 private:
  void run();
  Result<PackArrays> load(std::int64_t pack) const;

  const PackSource& source_;
  const std::size_t depth_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> requested_;
  std::deque<Result<PackArrays>> loaded_;
  bool loading_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all others
};

}  // namespace omnibal::runtime
