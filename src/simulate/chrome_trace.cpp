// SPDX-License-Identifier: Apache-2.0
//
// The Trace Event Format: "X" events (complete slices) with ts and dur in microseconds, "C" events
// (counters), "M" events (metadata) that name processes and threads.
#include "omnibal/simulate/chrome_trace.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

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
  void slice(const Track& track, std::string_view name, const StepEndSpan& span) {
    const std::int64_t start_ns = nanoseconds(span.start_s);
    line(R"({{"ph":"X","cat":"step end","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
         R"("args":{{"stage":{}}}}})",
         name, track.process, track.thread, microseconds(start_ns),
         microseconds(nanoseconds(span.end_s) - start_ns), span.stage);
  }
  void counter(const Track& track, double time_s, std::int64_t bytes) {
    line(R"({{"ph":"C","name":"memory of pipeline rank {}","pid":{},"ts":{},)"
         R"("args":{{"bytes":{}}}}})",
         track.thread, track.process, microseconds(nanoseconds(time_s)), bytes);
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
  if (interval.action.kind == ActionKind::kWeightGrad) {
    out.slice("weight gradient", 'W', track, interval.action, start, end);
    return;
  }
  out.slice("backward", 'B', track, interval.action, start, end);
  if (interval.recompute_s > 0) {
    const std::int64_t middle = nanoseconds(interval.start_s + interval.recompute_s);
    out.slice("recompute", 'R', track, interval.action, start, std::min(middle, end));
  }
}

void write_memory(TraceWriter& out, const Track& track, const std::vector<Interval>& intervals,
                  const std::vector<ActionMemory>& memory) {
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    out.counter(track, intervals[i].start_s, memory[i].during_bytes);
    out.counter(track, intervals[i].end_s, memory[i].after_bytes);
  }
}

/// In the order of StepEndSpan::Kind.
constexpr std::array<std::string_view, 3> kStepEndNames = {"reduce gradients", "optimizer",
                                                           "gather weights"};

void write_step_end(TraceWriter& out, std::size_t process, std::size_t num_ranks,
                    std::span<const StepEndSpan> spans) {
  const auto track_of = [&](std::size_t rank) { return Track{process, num_ranks + rank}; };
  if (spans.empty()) return;
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    out.name("thread_name", track_of(rank), fmt::format("end of step, pipeline rank {}", rank));
  }
  for (const StepEndSpan& span : spans) {
    out.slice(track_of(static_cast<std::size_t>(span.rank)),
              kStepEndNames[static_cast<std::size_t>(span.kind)], span);
  }
}

}  // namespace

std::string chrome_trace(std::span<const Timeline> timelines, const TraceExtras& extras) {
  TraceWriter out;
  for (std::size_t process = 0; process < timelines.size(); ++process) {
    out.name("process_name", {process, 0}, fmt::format("data-parallel rank {}", process));
    const Timeline& timeline = timelines[process];
    for (std::size_t thread = 0; thread < timeline.ranks.size(); ++thread) {
      const Track track{process, thread};
      out.name("thread_name", track, fmt::format("pipeline rank {}", thread));
      for (const Interval& interval : timeline.ranks[thread]) write_interval(out, track, interval);
      if (extras.memory.empty()) continue;
      write_memory(out, track, timeline.ranks[thread], extras.memory[process][thread]);
    }
    write_step_end(out, process, timeline.ranks.size(), extras.step_end);
  }
  return std::move(out).finish();
}

}  // namespace omnibal::simulate
