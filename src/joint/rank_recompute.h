// SPDX-License-Identifier: Apache-2.0
//
// Recomputation of a rank: of all its stages together, the least time within the memory of one
// device, whatever the schedule holds of each stage when.
//
// As in stage_knapsack.h the transients are fixed first (for each stage the most that a layer may
// rebuild at once), each combination leaves a cover with a need for every moment.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "joint/rank_cover.h"
#include "joint/rank_layout.h"

namespace omnibal::joint {

/// Nodes of all searches together and of one; when those are used up, kFewRankNodes each remain.
inline constexpr std::int64_t kMostRankNodes = 200'000;
inline constexpr std::int64_t kMostNodesOfARank = 512;
inline constexpr std::int64_t kFewRankNodes = 8;
/// More combinations of transients are not tried: then all stages of a rank have one in common, of
/// so many evenly chosen ones.
inline constexpr std::size_t kMostTransients = 64;
inline constexpr std::size_t kCommonTransients = 8;

class RankRecompute {
 public:
  /// `everything`: every layer recomputes that can. All must outlive it.
  RankRecompute(const RankLayout& layout, const StageTables& tables,
                std::span<const JointLayer> layers, const TickScale& scale, bool everything);

  struct Answer {
    bool fits = true;
    std::vector<Ticks> ticks;  // of recomputation, by stage of the rank
    struct Layers {
      std::size_t stage = 0;  // of the rank
      std::size_t kind = 0;
      std::int32_t choice = 0;
      std::int32_t count = 0;  // the first so many of the kind
    };
    std::vector<Layers> layers;
  };
  const Answer& of(std::size_t rank, const RankSpans& spans);
  /// Sets the spans' entries to the answer's, which fits.
  void choose(std::size_t rank, const RankSpans& spans, LayerChoices& choices);
  /// Least peak of the rank that any recomputation gives.
  std::int64_t least_peak_bytes(std::size_t rank, const RankSpans& spans) const;
  /// An answer so far need not be the least: its search was cut off.
  bool was_cut_off() const { return was_cut_off_; }
  std::int64_t effort() const { return 1 + static_cast<std::int64_t>(kinds_.size()) / 4; }

 private:
  struct Option {
    std::int64_t saving = 0;
    Ticks cost = 0;
    std::int64_t transient = 0;
    std::int32_t choice = 0;

    friend bool operator==(const Option&, const Option&) = default;
  };
  /// Layers that are alike in their choices.
  struct LayerKind {
    std::vector<Option> options;  // most saving first
    std::vector<std::int32_t> layers;
  };
  /// The most that a layer may rebuild at once, by stage of the rank.
  using Transients = std::vector<std::int64_t>;

  std::vector<Option> options_of(const JointLayer& layer) const;
  void gather_kinds();
  /// Options within `transient` that no other beats in both cost and saving, most saving first.
  static std::vector<Option> useful_options(const LayerKind& kind, std::int64_t transient);
  std::int32_t count(std::size_t kind, const StageSpan& span) const;
  /// By moment of the rank, bytes without recomputation.
  std::vector<std::int64_t> bytes_at_moments(std::size_t rank, const RankSpans& spans) const;
  struct Combinations {
    std::vector<Transients> transients;
    bool complete = true;
  };
  Combinations transients_of(const RankSpans& spans) const;
  std::vector<RankCoverItem> items_of(std::size_t rank, const RankSpans& spans,
                                      const Transients& transients) const;
  Answer search(std::size_t rank, const RankSpans& spans, const std::vector<std::int64_t>& bytes);
  Answer everything_of(std::size_t rank, const RankSpans& spans) const;
  void choose_everything(const RankSpans& spans, LayerChoices& choices) const;

  const RankLayout& layout_;
  const StageTables& tables_;
  std::span<const JointLayer> layers_;
  const TickScale& scale_;
  bool everything_ = false;
  std::vector<LayerKind> kinds_;
  std::vector<std::int32_t> before_;                  // [layer][kind]: layers of the kind before it
  std::vector<std::int64_t> weight_grad_;             // running totals
  std::vector<std::vector<std::int32_t>> weights_;    // [rank][moment x stages]: held for backwards
  std::vector<std::vector<std::int32_t>> most_held_;  // [rank][stage]
  std::map<std::vector<std::int32_t>, Answer> known_;
  bool was_cut_off_ = false;
  std::int64_t nodes_left_ = kMostRankNodes;
};

}  // namespace omnibal::joint
