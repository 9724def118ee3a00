// SPDX-License-Identifier: Apache-2.0
//
// Where stages may begin, and the exact question under every program here: are there cuts all of
// whose stages pass a test?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "joint/stage_model.h"

namespace omnibal::joint {

struct CutGrid {
  std::int32_t num_layers = 0;
  std::int32_t num_stages = 0;
  std::vector<bool> allowed;                // [num_layers + 1]; 0 and num_layers always
  std::vector<std::int32_t> last_allowed;   // [num_layers + 1]: the last allowed one up to here
  std::vector<std::int32_t> first_allowed;  // [num_layers + 1]: the first from here on

  /// The last layer at which stage `stage` may end so that every stage behind it has one.
  std::int32_t latest_end(std::int32_t stage) const {
    return num_layers - (num_stages - 1 - stage);
  }
};

/// kTooManyStages if the constraints leave too few cuts, kInvalidArgument if they name layers that
/// do not exist.
Result<CutGrid> cut_grid(const JointProblem& problem);

/// The layers before which stages end: num_stages of them, the last is num_layers.
using StageEnds = std::vector<std::int32_t>;
std::vector<StageSpan> stage_spans(const StageEnds& ends);
partition::Cuts to_cuts(const StageEnds& ends);
StageEnds to_ends(const partition::Cuts& cuts, std::int32_t num_layers);
/// Rising, of the grid's size, at allowed cuts.
bool is_on(const CutGrid& grid, const StageEnds& ends);

/// A property of stages that a span keeps when it loses a layer at either end.
using StageTest = std::function<bool(const StageSpan&)>;

/// The last end in [span.begin, most] at which the span passes; span.begin: none. O(log n) tests.
std::int32_t latest_passing_end(const StageSpan& from, std::int32_t most, const StageTest& test);
/// The first begin in [least, end) at which it passes; end: none.
std::int32_t earliest_passing_begin(const StageSpan& to, std::int32_t least, const StageTest& test);

struct CutSearch {
  std::optional<StageEnds> ends;
  /// If there are none and this is not empty: any other test under which all of these fail too has
  /// none either.
  std::vector<StageSpan> blocking;
};

/// Exact. Each stage as long as it may be: O(p log n) tests. Where that does not decide (stages
/// whose test is harder than that of stages before them, forbidden cuts), the set of all ends that
/// stages can reach: O(p n) tests.
CutSearch cuts_passing(const CutGrid& grid, const StageTest& test);

/// Of all cuts that are looked at one by one, at most.
inline constexpr std::int64_t kMostCutsToTry = 1'000;
/// All cuts of the grid, in lexicographic order; nothing if there are more than kMostCutsToTry.
std::optional<std::vector<StageEnds>> all_cuts(const CutGrid& grid);

}  // namespace omnibal::joint
