// SPDX-License-Identifier: Apache-2.0
//
// LiveBytes: the bytes of tensors that this thread has allocated since the object was made, and
// their peak. Exact, and each rank's own where ranks are threads.
//
//   const LiveBytes live;
//   run_forward(stage, x, pass, recompute, tape);
//   live.now();    // what the tape keeps, and the output
//   live.peak();   // with what came and went
//
// Not the process's memory: what other threads or libraries allocate does not count, and a tensor
// freed by another thread stays counted.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace omnibal::runtime {

class LiveBytes {
 public:
  LiveBytes();
  /// In the thread that made it.
  ~LiveBytes();
  LiveBytes(const LiveBytes&) = delete;
  LiveBytes& operator=(const LiveBytes&) = delete;

  std::int64_t now() const;
  std::int64_t peak() const;
  /// The peak from now on.
  void restart_peak();

 private:
  class Counter;
  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace omnibal::runtime
