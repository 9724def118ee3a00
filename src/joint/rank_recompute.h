// SPDX-License-Identifier: Apache-2.0
//
// Recomputation of a rank: of all its stages together, the least time within the memory of one
// device, whatever the schedule holds of each stage when.
//
// As in stage_knapsack.h the transients are fixed first (for each stage the most that a layer may
// rebuild at once), each combination leaves a cover with a need for every moment. Where many layers
// differ, kinds of nearly alike ones are searched, what is found is made cheaper layer by layer
// (rank_swaps.h), and the exact search starts from there. Whether a rank fits at all is exact
// (rank_caps.h).
#pragma once

#include <map>
#include <span>
#include <vector>

#include "joint/rank_caps.h"
#include "joint/rank_cover.h"
#include "joint/rank_swaps.h"

namespace omnibal::joint {

/// Nodes of all searches together and of one; when those are used up, kFewRankNodes each remain.
inline constexpr std::int64_t kMostRankNodes = 200'000;
inline constexpr std::int64_t kMostNodesOfARank = 512;
inline constexpr std::int64_t kFewRankNodes = 8;
/// More combinations of transients are not tried: then all stages of a rank have one in common, of
/// so many evenly chosen ones.
inline constexpr std::size_t kMostTransients = 64;
inline constexpr std::size_t kCommonTransients = 8;

/// Where layers differ: by kinds alone, for many questions, or as well as it can be.
enum class RankCare { kByKinds, kByLayers };

class RankRecompute {
 public:
  /// `everything`: every layer recomputes that can. All must outlive it.
  RankRecompute(const RankLayout& layout, const StageTables& tables,
                std::span<const JointLayer> layers, const TickScale& scale, bool everything,
                RankCare care);

  struct Answer {
    bool fits = true;
    std::vector<Ticks> ticks;  // of recomputation, by stage of the rank
    std::vector<LayerChoice> layers;

    Ticks cost() const;
  };
  const Answer& of(std::size_t rank, const RankSpans& spans);
  /// Sets the spans' entries to the answer's, which fits.
  void choose(std::size_t rank, const RankSpans& spans, LayerChoices& choices);
  /// Least peak of the rank that any recomputation gives. Exact.
  std::int64_t least_peak_bytes(std::size_t rank, const RankSpans& spans) const;
  /// An answer so far need not be the least: its search was cut off. That it fits or not is exact.
  bool was_cut_off() const { return was_cut_off_; }
  /// Layers differ: kinds of nearly alike ones are fewer.
  bool has_near_kinds() const { return !everything_ && near_.size() < exact_.size(); }
  std::int64_t effort() const;

 private:
  /// The most that a layer may rebuild at once, by stage of the rank.
  using Transients = std::vector<std::int64_t>;

  /// Bytes without recomputation.
  RankBytes bytes_of(std::size_t rank, const RankSpans& spans) const;
  struct Combinations {
    std::vector<Transients> transients;
    bool complete = true;
  };
  static Combinations transients_of(const RankKinds& kinds, const RankSpans& spans,
                                    const Transients& caps);
  std::vector<RankCoverItem> items_of(const RankKinds& kinds, std::size_t rank,
                                      const RankSpans& spans, const Transients& transients) const;
  Answer to_answer(const RankKinds& kinds, const std::vector<RankCoverItem>& items,
                   const std::vector<RankCover::Taken>& taken, const RankSpans& spans) const;
  /// Of less cost than `below`; does not fit if none was found. `only_all`: nothing is searched if
  /// not all combinations can be.
  Answer cover(const RankKinds& kinds, std::size_t rank, const RankSpans& spans,
               const RankBytes& bytes, Ticks below, bool only_all);
  Answer search(std::size_t rank, const RankSpans& spans, const RankBytes& bytes);
  Answer everything_of(std::size_t rank, const RankSpans& spans) const;
  void choose_everything(const RankSpans& spans, LayerChoices& choices) const;

  const RankLayout& layout_;
  const StageTables& tables_;
  std::span<const JointLayer> layers_;
  const TickScale& scale_;
  bool everything_ = false;
  RankCare care_;
  RankKinds exact_, near_;
  std::vector<std::int64_t> weight_grad_;             // running totals
  std::vector<std::vector<std::int32_t>> weights_;    // [rank][moment x stages]: held for backwards
  std::vector<std::vector<std::int32_t>> most_held_;  // [rank][stage]
  std::map<std::vector<std::int32_t>, Answer> known_;
  bool was_cut_off_ = false;
  std::int64_t nodes_left_ = kMostRankNodes;
};

}  // namespace omnibal::joint
