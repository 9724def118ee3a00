// SPDX-License-Identifier: Apache-2.0
//
// Layers of a model that are alike in what they may recompute, and what each kind may do within a
// transient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "joint/covering_knapsack.h"
#include "joint/ticks.h"
#include "omnibal/joint/joint.h"

namespace omnibal::joint {

/// The useful choices of a layer among those that rebuild at most `transient` bytes at once.
struct ChoiceLevel {
  std::int64_t transient = 0;
  std::vector<CoverOption> options;  // most saving first, so that a first descent covers
  std::vector<CoverIncrement> hull;  // of the options; cost a byte rises

  std::int64_t most_saving() const { return options.front().saving; }
};

struct LayerKind {
  std::vector<ChoiceLevel> levels;   // by transient, ascending
  std::vector<std::int32_t> layers;  // ascending

  /// The last level within the transient; -1: none.
  std::int32_t level_within(std::int64_t transient) const;
};

/// In order of the first increment's cost a byte, at the last level. Layers that gain nothing are
/// of no kind.
std::vector<LayerKind> layer_kinds(std::span<const JointLayer> layers, const TickScale& scale);

}  // namespace omnibal::joint
