// SPDX-License-Identifier: Apache-2.0
//
// The Trace Event Format: "X" events (complete slices) with ts and dur in microseconds, "M" events
// (metadata) that name processes and threads.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "omnibal/simulate/pipeline.h"

namespace omnibal::simulate {
namespace {

using schedule::ActionKind;

/// Where a slice stands.
struct Track {
  std::size_t process = 0;
  std::size_t thread = 0;
};

/// Rounded to whole nanoseconds before it is written, so that slices that touch do not overlap.
std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class TraceWriter {
 public:
  void name(std::string_view what, const Track& track, std::string_view name) {
    line(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what,
         track.process, track.thread, name);
  }
  void slice(std::string_view category, char letter, const Track& track,
             const schedule::Action& action, std::int64_t start_ns, std::int64_t end_ns) {
    line(R"({{"ph":"X","cat":"{}","name":"{}{}","pid":{},"tid":{},"ts":{},"dur":{},)"
         R"("args":{{"stage":{},"micro_batch":{}}}}})",
         category, letter, action.micro_batch.value(), track.process, track.thread,
         microseconds(start_ns), microseconds(end_ns - start_ns), action.stage.value(),
         action.micro_batch.value());
  }
  std::string finish() && {
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += text_.back() == '[' ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  std::string text_ = R"({"displayTimeUnit":"ms","traceEvents":[)";
};

void write_interval(TraceWriter& out, const Track& track, const Interval& interval) {
  const std::int64_t start = nanoseconds(interval.start_s);
  const std::int64_t end = nanoseconds(interval.end_s);
  if (interval.action.kind == ActionKind::kForward) {
    out.slice("forward", 'F', track, interval.action, start, end);
    return;
  }
  out.slice("backward", 'B', track, interval.action, start, end);
  if (interval.recompute_s > 0) {
    const std::int64_t middle = nanoseconds(interval.start_s + interval.recompute_s);
    out.slice("recompute", 'R', track, interval.action, start, std::min(middle, end));
  }
}

}  // namespace

std::string chrome_trace(std::span<const Timeline> timelines) {
  TraceWriter out;
  for (std::size_t process = 0; process < timelines.size(); ++process) {
    out.name("process_name", {process, 0}, fmt::format("data-parallel rank {}", process));
    const Timeline& timeline = timelines[process];
    for (std::size_t thread = 0; thread < timeline.ranks.size(); ++thread) {
      const Track track{process, thread};
      out.name("thread_name", track, fmt::format("pipeline rank {}", thread));
      for (const Interval& interval : timeline.ranks[thread]) write_interval(out, track, interval);
    }
  }
  return std::move(out).finish();
}

}  // namespace omnibal::simulate
