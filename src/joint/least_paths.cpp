// SPDX-License-Identifier: Apache-2.0
#include "joint/least_paths.h"

#include <algorithm>
#include <tuple>

#include "joint/cut_windows.h"

namespace omnibal::joint {
namespace {

/// Labels of a state that no other beats in work and path; beyond it some are dropped.
constexpr std::size_t kMostLabels = 48;
constexpr int kMostNarrowings = 40;

/// A way through stages s..p-1 from a given begin.
struct Label {
  Ticks work = 0;
  Ticks path = 0;
  double squares = 0;         // of the stages' busy ticks: among equals the most even one
  std::int32_t next = 0;      // index of the end in the window behind
  std::int32_t next_label = 0;
};

/// All labels of a begin; and the least work and least path of any, which one label need not have
/// together: what follows from them is a bound even where labels were dropped.
struct State {
  std::vector<Label> labels;
  Ticks least_work = kNever;
  Ticks least_path = kNever;
};

/// Keeps the labels that none beats in both, and of the others the shortest until there are
/// `count`. False: there were too many.
bool thin_out(std::vector<Label>& labels, std::size_t count) {
  std::ranges::sort(labels, {}, [](const Label& l) {
    return std::tie(l.path, l.work, l.squares, l.next, l.next_label);
  });
  std::vector<Label> kept;
  Ticks least_work = kNever;
  bool complete = true;
  for (const Label& label : labels) {
    const bool unbeaten = label.work < least_work;
    if (!unbeaten && kept.size() >= count) continue;
    if (kept.size() >= kMostLabels) {
      complete = complete && !unbeaten;
      continue;
    }
    least_work = std::min(least_work, label.work);
    kept.push_back(label);
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
    states_.back().assign(1, {{Label{}}, 0, 0});
    for (std::size_t s = windows_.size() - 1; s-- > 0;) {
      for (const std::int32_t begin : windows_[s]) states_[s].push_back(state(s, begin));
    }
  }

  Ticks bound() const {
    const State& first = states_.front().front();
    return complete_ && !first.labels.empty() ? first.labels.front().path : first.least_path;
  }

  std::vector<StageEnds> plans() const {
    std::vector<StageEnds> plans;
    const std::vector<Label>& labels = states_.front().front().labels;
    for (std::size_t k = 0; k < labels.size() && plans.size() < static_cast<std::size_t>(query_.count);
         ++k) {
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
      if (ends[e] <= begin || behind.least_path >= kNever) continue;
      const StageSpan span{static_cast<std::int32_t>(s), begin, ends[e]};
      const Ticks most =
          std::min(query_.most_busy, path_.most_busy(span, model_.tables(), query_.most_path));
      const Bounds busy = model_.busy(span, most);
      if (busy.lower > most) continue;
      bound_through(span, busy.lower, behind, state);
      complete_ = complete_ && busy.lower == busy.upper;
      if (busy.upper < kNever) extend(span, busy.upper, e, behind, state);
    }
    complete_ = thin_out(state.labels, static_cast<std::size_t>(query_.count)) && complete_;
    return state;
  }

  StageTime time_of(const StageSpan& span, Ticks busy) const {
    const Ticks forward = model_.tables().forward(span);
    return {forward, busy - forward};
  }

  void bound_through(const StageSpan& span, Ticks busy, const State& behind, State& state) const {
    const Ticks path =
        path_.through(span.stage, time_of(span, busy), behind.least_work, behind.least_path);
    state.least_path = std::min(state.least_path, path);
    state.least_work = std::min(state.least_work, busy + behind.least_work);
  }

  void extend(const StageSpan& span, Ticks busy, std::size_t end, const State& behind,
              State& state) const {
    const StageTime time = time_of(span, busy);
    for (std::size_t k = 0; k < behind.labels.size(); ++k) {
      const Label& next = behind.labels[k];
      const Ticks path = path_.through(span.stage, time, next.work, next.path);
      if (model_.tables().work_before(span.begin) + path > query_.most_path) continue;
      const auto ticks = static_cast<double>(busy);
      state.labels.push_back({busy + next.work, path, next.squares + ticks * ticks,
                              static_cast<std::int32_t>(end), static_cast<std::int32_t>(k)});
    }
  }

  const CutWindows& windows_;
  StageModel& model_;
  const StepPath& path_;
  const PathQuery& query_;
  std::vector<std::vector<State>> states_;  // [stage][begin in its window]
  bool complete_ = true;  // no label was dropped, no stage's time is a bound only
};

}  // namespace

LeastPaths least_paths(const CutGrid& grid, StageModel& model, const StepPath& path,
                       const PathQuery& query) {
  PathQuery narrowed = query;
  const auto windows_within = [&] {
    return cut_windows(grid, [&](const StageSpan& span) {
      const Ticks most = std::min(
          narrowed.most_busy, path.most_busy(span, model.tables(), narrowed.most_path));
      return model.busy(span, most).lower <= most;
    });
  };
  CutWindows windows = windows_within();
  if (any_empty(windows)) return {{}, query.most_path + 1};
  Ticks low = model.tables().work_from(0);  // a path that is too short for any plan, or may be
  for (int i = 0; i < kMostNarrowings && count_spans(windows) > kMostSpans; ++i) {
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
  PathProgram program(windows, model, path, narrowed);
  program.run();
  LeastPaths least{program.plans(), std::min(program.bound(), narrowed.most_path + 1)};
  return least;
}

}  // namespace omnibal::joint
