// SPDX-License-Identifier: Apache-2.0
//
// RankKinds: layers that are alike in what they may recompute, counted by stage instead of searched
// one by one. Measured layers are never quite alike: kinds within a tolerance stand for them, so
// that what is found with a kind holds for each of its layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "joint/stage_model.h"
#include "joint/ticks.h"
#include "omnibal/joint/joint.h"

namespace omnibal::joint {

/// A way for a layer to recompute.
struct RankOption {
  std::int64_t saving = 0;  // of a micro-batch
  Ticks cost = 0;
  std::int64_t transient = 0;
  std::int32_t choice = 0;

  friend bool operator==(const RankOption&, const RankOption&) = default;
};

/// All that save anything, most saving first.
std::vector<RankOption> rank_options(const JointLayer& layer, const TickScale& scale);

/// The most that a layer saves if it may rebuild `transient` bytes at once: so much more than with
/// less.
struct SavingStep {
  std::int64_t transient = 0;
  std::int64_t saving = 0;
};

struct RankKind {
  std::vector<RankOption> options;   // most saving first
  std::vector<SavingStep> steps;     // of the options, by transient
  std::vector<std::int32_t> layers;  // ascending
};

/// Options within `transient` that no other beats in both cost and saving, most saving first.
std::vector<RankOption> useful_options(const RankKind& kind, std::int64_t transient);

class RankKinds {
 public:
  /// Layers are of a kind if no option's saving, cost and transient differ by more than `tolerance`
  /// of the larger from those of its first layer. A kind saves what the one that saves least does,
  /// rebuilds what the one does that rebuilds most, and costs the mean.
  RankKinds(std::span<const JointLayer> layers, const TickScale& scale, double tolerance);

  std::size_t size() const { return kinds_.size(); }
  const RankKind& operator[](std::size_t kind) const { return kinds_[kind]; }
  std::int32_t count(std::size_t kind, const StageSpan& span) const {
    return before_[static_cast<std::size_t>(span.end) * kinds_.size() + kind] -
           before_[static_cast<std::size_t>(span.begin) * kinds_.size() + kind];
  }

 private:
  void sum_up(std::size_t num_layers);

  std::vector<RankKind> kinds_;
  std::vector<std::int32_t> before_;  // [layer][kind]: layers of the kind before it
};

/// With the least tolerance that leaves few kinds: 0 where few layers differ.
RankKinds near_kinds(std::span<const JointLayer> layers, const TickScale& scale);

/// Every layer of a near kind as the mean of its kind.
std::vector<JointLayer> typical_layers(std::span<const JointLayer> layers, const TickScale& scale);

}  // namespace omnibal::joint
