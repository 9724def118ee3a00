// SPDX-License-Identifier: Apache-2.0
#include "joint/least_paths.h"

#include <algorithm>
#include <vector>

#include "joint/cut_windows.h"
#include "joint/path_labels.h"

namespace omnibal::joint {
namespace {

constexpr int kMostNarrowings = 40;
/// Labels that a state keeps: as many as a program of its size can afford, within these.
constexpr std::int64_t kFewestLabels = 16;
constexpr std::int64_t kMostLabels = 24;
constexpr std::int64_t kAffordedLabels = 64'000;  // of all spans together
constexpr std::int64_t kMostSpans = 60'000;       // however cheap each is

std::size_t affordable_labels(const CutWindows& windows) {
  const std::int64_t of_a_span = kAffordedLabels / std::max<std::int64_t>(count_spans(windows), 1);
  return static_cast<std::size_t>(std::clamp(of_a_span, kFewestLabels, kMostLabels));
}

constexpr PathTail kNoTail{kNever, kNever, kNever, kNever};

/// All labels of a begin; and the least of each quantity, which one label need not have together:
/// what follows from it is a bound even where labels were dropped.
struct State {
  std::vector<PathLabel> labels;
  PathTail least = kNoTail;
};

/// What is known of the stages before a begin.
struct Front {
  Ticks work = 0;
  StageTime longest;  // at least
};

class PathProgram {
 public:
  PathProgram(const CutWindows& windows, StageModel& model, const StepPath& path,
              const PathQuery& query)
      : windows_(windows),
        model_(model),
        path_(path),
        query_(query),
        most_labels_(affordable_labels(windows)),
        states_(windows.size()) {}

  void run() {
    states_.back().assign(1, {{PathLabel{}}, PathTail{}});
    for (std::size_t s = windows_.size() - 1; s-- > 0;) {
      for (const std::int32_t begin : windows_[s]) states_[s].push_back(state(s, begin));
    }
  }

  Ticks bound() const {
    const State& first = states_.front().front();
    const std::vector<PathLabel>& labels = first.labels;
    return complete_ && !labels.empty() ? labels.front().tail.path : first.least.path;
  }

  std::vector<StageEnds> plans() const {
    std::vector<StageEnds> plans;
    const std::vector<PathLabel>& labels = states_.front().front().labels;
    for (std::size_t k = 0; k < std::min(labels.size(), count()); ++k) {
      StageEnds& ends = plans.emplace_back();
      PathLabel label = labels[k];
      for (std::size_t s = 1; s < windows_.size(); ++s) {
        const auto next = static_cast<std::size_t>(label.next);
        ends.push_back(windows_[s][next]);
        label = states_[s][next].labels[static_cast<std::size_t>(label.next_label)];
      }
    }
    return plans;
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(query_.count); }

  State state(std::size_t s, std::int32_t begin) {
    State state;
    const Front front = front_of(static_cast<std::int32_t>(s), begin);
    const std::vector<std::int32_t>& ends = windows_[s + 1];
    for (std::size_t e = 0; e < ends.size(); ++e) {
      const State& behind = states_[s + 1][e];
      if (ends[e] <= begin || behind.least.path >= kNever) continue;
      const StageSpan span{static_cast<std::int32_t>(s), begin, ends[e]};
      const Ticks most =
          std::min(query_.most_busy, path_.most_busy(span, model_.tables(), query_.most_path));
      const Ticks work = model_.tables().work(span);
      if (work > most || is_too_long(front, span, work, behind)) continue;
      if (is_too_long(front, span, model_.rough_busy(span).lower, behind)) continue;
      const Bounds busy = model_.busy(span, most);
      if (busy.lower > most) continue;
      state.least = least_of_both(state.least, through(front, span, busy.lower, behind.least));
      complete_ = complete_ && busy.lower == busy.upper;
      if (busy.upper < kNever) extend(front, span, busy.upper, e, state.labels);
    }
    complete_ = keep_needed(state.labels, count(), most_labels_) && complete_;
    return state;
  }

  /// Their longest times are at least the mean, and those of the first one where its end is given.
  Front front_of(std::int32_t stage, std::int32_t begin) const {
    if (stage == 0) return {};
    const StageTables& tables = model_.tables();
    const auto mean = [&](Ticks sum) { return (sum + stage - 1) / stage; };
    Front front{tables.work_before(begin),
                {mean(tables.forward_before(begin)), mean(tables.backward_before(begin))}};
    if (windows_[1].size() == 1) {
      const StageSpan first{0, 0, windows_[1].front()};
      front.longest.forward = std::max(front.longest.forward, tables.forward(first));
      front.longest.backward = std::max(front.longest.backward, tables.backward(first));
    }
    return front;
  }

  PathTail through(const Front& front, const StageSpan& span, Ticks busy,
                   const PathTail& behind) const {
    const Ticks forward = model_.tables().forward(span);
    return path_.through(span.stage, {forward, busy - forward}, front.longest, behind);
  }

  /// Whether a plan that goes on so is longer than wanted, at least.
  bool is_too_long(const Front& front, const PathTail& tail) const {
    return front.work + tail.path > query_.most_path;
  }

  bool is_too_long(const Front& front, const StageSpan& span, Ticks busy,
                   const State& behind) const {
    return busy >= kNever || is_too_long(front, through(front, span, busy, behind.least));
  }

  void extend(const Front& front, const StageSpan& span, Ticks busy, std::size_t end,
              std::vector<PathLabel>& labels) const {
    const auto ticks = static_cast<double>(busy);
    const std::vector<PathLabel>& behind =
        states_[static_cast<std::size_t>(span.stage) + 1][end].labels;
    for (std::size_t k = 0; k < behind.size(); ++k) {
      const PathTail tail = through(front, span, busy, behind[k].tail);
      if (is_too_long(front, tail)) continue;
      labels.push_back({tail, behind[k].squares + ticks * ticks, static_cast<std::int32_t>(end),
                        static_cast<std::int32_t>(k)});
    }
  }

  const CutWindows& windows_;
  StageModel& model_;
  const StepPath& path_;
  const PathQuery& query_;
  std::size_t most_labels_;
  std::vector<std::vector<State>> states_;  // [stage][begin in its window]
  bool complete_ = true;                    // no label was dropped, no stage's time is a bound only
};

/// Windows of the query; its most_path is lowered until they are not too much work.
CutWindows affordable_windows(const CutGrid& grid, StageModel& model, const StepPath& path,
                              PathQuery& narrowed) {
  const auto windows_within = [&] {
    return cut_windows(grid, [&](const StageSpan& span) {
      const Ticks most =
          std::min(narrowed.most_busy, path.most_busy(span, model.tables(), narrowed.most_path));
      return model.is_within(span, most, &Bounds::lower);
    });
  };
  CutWindows windows = windows_within();
  Ticks low = model.tables().work_from(0);  // a path that is too short for any plan, or may be
  const std::int64_t most = std::min(kMostSpans, kMostEffort / model.effort());
  for (int i = 0; i < kMostNarrowings && count_spans(windows) > most; ++i) {
    const Ticks high = narrowed.most_path;
    narrowed.most_path = low + (high - low) / 2;
    CutWindows narrower = windows_within();
    if (any_empty(narrower)) {
      low = narrowed.most_path;
      narrowed.most_path = high;
    } else {
      windows = std::move(narrower);
    }
  }
  return windows;
}

LeastPaths within(const CutWindows& windows, StageModel& model, const StepPath& path,
                  const PathQuery& query) {
  if (any_empty(windows)) return {{}, query.most_path + 1};
  PathProgram program(windows, model, path, query);
  program.run();
  return {program.plans(), std::min(program.bound(), query.most_path + 1)};
}

}  // namespace

LeastPaths least_paths(const CutGrid& grid, StageModel& model, const StepPath& path,
                       const PathQuery& query) {
  PathQuery narrowed = query;
  const CutWindows windows = affordable_windows(grid, model, path, narrowed);
  return within(windows, model, path, narrowed);
}

LeastPaths least_paths_by_first_stage(const CutGrid& grid, StageModel& model, const StepPath& path,
                                      const PathQuery& query) {
  PathQuery narrowed = query;
  const CutWindows windows = affordable_windows(grid, model, path, narrowed);
  LeastPaths least{{}, narrowed.most_path + 1};
  const auto num_ends = static_cast<std::int64_t>(windows[1].size());
  if (num_ends * count_spans(windows) * model.effort() > kMostEffort / 8) return {{}, 0};
  for (const std::int32_t end : windows[1]) {
    CutWindows with_end = windows;
    with_end[1] = {end};
    LeastPaths some = within(with_end, model, path, narrowed);
    least.bound = std::min(least.bound, some.bound);
    least.plans.insert(least.plans.end(), some.plans.begin(), some.plans.end());
  }
  return least;
}

}  // namespace omnibal::joint
