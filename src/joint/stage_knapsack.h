// SPDX-License-Identifier: Apache-2.0
//
// Recomputation of a stage chosen freely: least time within the memory limit.
//
// The transient (the most that a recomputed layer rebuilds at once) is one of few values: for each
// in turn, only choices that rebuild no more may be taken, and a covering knapsack says which. The
// least over all of them is the least of all, since a solution that would have come with a smaller
// transient is found there too.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "joint/covering_knapsack.h"
#include "joint/layer_kinds.h"
#include "joint/stage_model.h"

namespace omnibal::joint {

/// Nodes of a single search, and of all together; when those are used up, kFewNodes each remain.
inline constexpr std::int64_t kMostNodesOfASearch = 2048;
inline constexpr std::int64_t kMostNodes = 100'000;
inline constexpr std::int64_t kFewNodes = 32;

class StageKnapsack : public StageModel {
 public:
  /// `tables` must outlive it.
  StageKnapsack(const StageTables& tables, std::span<const JointLayer> layers,
                const TickScale& scale);

  Bounds recompute(const StageSpan& span, Ticks most) override;
  Bounds rough_recompute(const StageSpan& span) override;
  void choose(const StageSpan& span, LayerChoices& choices) override;
  std::int64_t least_peak_bytes(const StageSpan& span) const override;
  std::int64_t effort() const override;
  bool was_cut_off() const override { return was_cut_off_; }

 private:
  /// A level of a kind.
  struct LevelIndex {
    std::size_t kind = 0;
    std::size_t level = 0;
  };
  struct LevelIncrement {
    LevelIndex of;
    CoverIncrement step;
  };
  struct Answer {
    Bounds rough;
    Bounds bounds;
    Ticks searched_below = -1;  // negative: not yet
  };
  Answer& known(const StageSpan& span);

  void order_levels();
  std::int32_t count(std::size_t kind, const StageSpan& span) const;
  /// Bytes a micro-batch that must not be kept, with this transient.
  std::int64_t need(const StageSpan& span, std::int64_t transient) const;
  /// Sets present_ and transients_.
  void gather(const StageSpan& span);
  /// The items of present_ with the choices that rebuild at most `transient`.
  void fill(std::int64_t transient);
  void add_items();
  Bounds search(const StageSpan& span, Ticks below, std::int64_t most_nodes);

  std::int32_t num_layers_ = 0;
  std::vector<LayerKind> kinds_;            // in order of the last level's first cost a byte
  std::vector<LevelIncrement> increments_;  // of all levels, in order of cost a byte
  std::vector<LevelIndex> by_transient_;    // levels in order of their transient
  std::vector<std::int32_t> before_;        // [layer][kind]: layers of the kind before it
  struct Present {
    std::size_t kind = 0;
    std::int32_t count = 0;
    std::int32_t level = -1;  // that fill chose
  };
  const ChoiceLevel& level_of(const Present& present) const {
    return kinds_[present.kind].levels[static_cast<std::size_t>(present.level)];
  }
  std::vector<Present> present_;          // kinds of a span
  std::vector<Present> items_;            // those that fill took
  std::vector<std::int64_t> transients_;  // of their levels, ascending, each once
  std::vector<std::int32_t> item_of_kind_;
  CoveringKnapsack knapsack_;
  std::vector<CoveringKnapsack::Taken> taken_;  // of the last search
  std::unordered_map<std::uint64_t, Answer> known_;
  bool was_cut_off_ = false;
  std::int64_t nodes_left_ = kMostNodes;
};

}  // namespace omnibal::joint
