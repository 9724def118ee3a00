// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/live_bytes.h"

#include <c10/core/Allocator.h>

#include <algorithm>

namespace omnibal::runtime {

/// The place where torch's own profiler listens.
class LiveBytes::Counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t,
                         c10::Device device) override {
    if (!device.is_cpu()) return;
    now_ += size;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t now() const { return now_; }
  std::int64_t peak() const { return peak_; }
  void restart_peak() { peak_ = now_; }

 private:
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

LiveBytes::LiveBytes()
    : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}

LiveBytes::~LiveBytes() = default;

std::int64_t LiveBytes::now() const { return counter_->now(); }

std::int64_t LiveBytes::peak() const { return counter_->peak(); }

void LiveBytes::restart_peak() { counter_->restart_peak(); }

}  // namespace omnibal::runtime
