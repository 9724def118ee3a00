// SPDX-License-Identifier: Apache-2.0
#include "joint/least_paths.h"

#include <algorithm>
#include <tuple>

#include "joint/cut_windows.h"

namespace omnibal::joint {
namespace {

/// Labels of a state that no other beats in work and path; beyond it some are dropped.
constexpr std::size_t kMostLabels = 24;
constexpr int kMostNarrowings = 40;

/// A way through stages s..p-1 from a given begin.
struct Label {
  PathTail tail;
  double squares = 0;     // of the stages' busy ticks: among equals the most even one
  std::int32_t next = 0;  // index of the end in the window behind
  std::int32_t next_label = 0;
};

constexpr PathTail kNoTail{kNever, kNever, kNever, kNever};

/// All labels of a begin; and the least of each quantity, which one label need not have together:
/// what follows from it is a bound even where labels were dropped.
struct State {
  std::vector<Label> labels;
  PathTail least = kNoTail;
};

/// Keeps the labels that none beats in everything, and of the others the shortest until there are
/// `count`. False: there were too many.
bool thin_out(std::vector<Label>& labels, std::size_t count) {
  std::ranges::sort(labels, {}, [](const Label& l) {
    return std::tie(l.tail.path, l.tail.work, l.squares, l.next, l.next_label);
  });
  std::vector<Label> kept;
  bool complete = true;
  for (const Label& label : labels) {
    if (!complete) break;
    const bool unbeaten = std::ranges::none_of(
        kept, [&](const Label& other) { return other.tail.is_no_worse(label.tail); });
    if (!unbeaten && kept.size() >= count) continue;
    if (kept.size() < kMostLabels) {
      kept.push_back(label);
    } else {
      complete = complete && !unbeaten;
    }
  }
  labels = std::move(kept);
  return complete;
}

class PathProgram {
 public:
  PathProgram(const CutWindows& windows, StageModel& model, const StepPath& path,
              const PathQuery& query)
      : windows_(windows), model_(model), path_(path), query_(query), states_(windows.size()) {}

  void run() {
    states_.back().assign(1, {{Label{}}, PathTail{}});
    for (std::size_t s = windows_.size() - 1; s-- > 0;) {
      for (const std::int32_t begin : windows_[s]) states_[s].push_back(state(s, begin));
    }
  }

  Ticks bound() const {
    const State& first = states_.front().front();
    return complete_ && !first.labels.empty() ? first.labels.front().tail.path : first.least.path;
  }

  std::vector<StageEnds> plans() const {
    std::vector<StageEnds> plans;
    const std::vector<Label>& labels = states_.front().front().labels;
    for (std::size_t k = 0;
         k < labels.size() && plans.size() < static_cast<std::size_t>(query_.count); ++k) {
      StageEnds& ends = plans.emplace_back();
      Label label = labels[k];
      for (std::size_t s = 1; s < windows_.size(); ++s) {
        const auto next = static_cast<std::size_t>(label.next);
        ends.push_back(windows_[s][next]);
        label = states_[s][next].labels[static_cast<std::size_t>(label.next_label)];
      }
    }
    return plans;
  }

 private:
  State state(std::size_t s, std::int32_t begin) {
    State state;
    const std::vector<std::int32_t>& ends = windows_[s + 1];
    for (std::size_t e = 0; e < ends.size(); ++e) {
      const State& behind = states_[s + 1][e];
      if (ends[e] <= begin || behind.least.path >= kNever) continue;
      const StageSpan span{static_cast<std::int32_t>(s), begin, ends[e]};
      const Ticks most =
          std::min(query_.most_busy, path_.most_busy(span, model_.tables(), query_.most_path));
      const Ticks work = model_.tables().work(span);
      if (work > most || is_too_long(span, work, behind)) continue;
      if (is_too_long(span, model_.rough_busy(span).lower, behind)) continue;
      const Bounds busy = model_.busy(span, most);
      if (busy.lower > most) continue;
      state.least = least_of_both(state.least, through(span, busy.lower, behind.least));
      complete_ = complete_ && busy.lower == busy.upper;
      if (busy.upper < kNever) extend(span, busy.upper, e, behind, state);
    }
    complete_ = thin_out(state.labels, static_cast<std::size_t>(query_.count)) && complete_;
    return state;
  }

  PathTail through(const StageSpan& span, Ticks busy, const PathTail& behind) const {
    const Ticks forward = model_.tables().forward(span);
    return path_.through(span.stage, {forward, busy - forward}, longest_before(span), behind);
  }

  /// At least the mean of the stages before, and the first one where its end is given.
  StageTime longest_before(const StageSpan& span) const {
    if (span.stage == 0) return {};
    const StageTables& tables = model_.tables();
    const auto mean = [&](Ticks sum) { return (sum + span.stage - 1) / span.stage; };
    StageTime longest{mean(tables.forward_before(span.begin)),
                      mean(tables.backward_before(span.begin))};
    if (windows_[1].size() == 1) {
      const StageSpan first{0, 0, windows_[1].front()};
      longest.forward = std::max(longest.forward, tables.forward(first));
      longest.backward = std::max(longest.backward, tables.backward(first));
    }
    return longest;
  }

  /// Of a plan that goes on so, at least.
  Ticks whole_path(const StageSpan& span, const PathTail& tail) const {
    return model_.tables().work_before(span.begin) + tail.path;
  }

  bool is_too_long(const StageSpan& span, Ticks busy, const State& behind) const {
    return busy >= kNever || whole_path(span, through(span, busy, behind.least)) > query_.most_path;
  }

  void extend(const StageSpan& span, Ticks busy, std::size_t end, const State& behind,
              State& state) const {
    for (std::size_t k = 0; k < behind.labels.size(); ++k) {
      const Label& next = behind.labels[k];
      const PathTail tail = through(span, busy, next.tail);
      if (whole_path(span, tail) > query_.most_path) continue;
      const auto ticks = static_cast<double>(busy);
      state.labels.push_back({tail, next.squares + ticks * ticks, static_cast<std::int32_t>(end),
                              static_cast<std::int32_t>(k)});
    }
  }

  const CutWindows& windows_;
  StageModel& model_;
  const StepPath& path_;
  const PathQuery& query_;
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
  for (int i = 0; i < kMostNarrowings && count_spans(windows) * model.effort() > kMostEffort; ++i) {
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
