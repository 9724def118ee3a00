// SPDX-License-Identifier: Apache-2.0
//
// RankCover: a covering knapsack with several needs. At each of a rank's fullest moments a number
// of bytes must not be held; a layer that recomputes saves at each as often as its stage holds a
// micro-batch there. The least cost that meets all needs.
#pragma once

#include <cstdint>
#include <vector>

#include "joint/ticks.h"

namespace omnibal::joint {

/// One way in which alike layers of a stage can recompute. Ways of the same layers stand together,
/// most saving first.
struct RankCoverItem {
  std::int32_t stage = 0;  // index into the rank's stages
  std::int32_t kind = 0;   // of layer
  std::int32_t choice = 0;
  std::int32_t count = 0;   // layers, shared by all ways of the same (stage, kind)
  std::int64_t saving = 0;  // of one layer and micro-batch
  Ticks cost = 0;           // of one layer
};

class RankCover {
 public:
  struct Taken {
    std::size_t item = 0;
    std::int32_t count = 0;
  };

  /// `weights`: [need x stages], how often a layer's saving counts. Items in the order in which a
  /// first descent, which meets all needs if anything does, takes them.
  RankCover(const std::vector<RankCoverItem>& items, const std::vector<std::int32_t>& weights,
            std::size_t num_stages);

  /// Depth first, most of the first item first. Looks for less than `below`; kNever: there is none
  /// (or, if cut off, none was found). Cut off after `most_nodes` beyond a first descent.
  Ticks least_cost(const std::vector<std::int64_t>& needs, Ticks below, std::int64_t most_nodes);
  const std::vector<Taken>& taken() const { return best_; }  // of the last cost found
  std::int64_t nodes() const { return nodes_; }              // of the last search
  bool was_cut_off() const { return was_cut_off_; }          // of the last search

 private:
  std::int64_t weight(std::size_t need, std::size_t item) const;
  bool is_same_group(std::size_t a, std::size_t b) const;
  /// Whether what is behind `item` can meet the needs, and its cost is worth it.
  bool is_hopeless(std::size_t item, const std::vector<std::int64_t>& needs, Ticks cost) const;
  std::int32_t most_useful(std::size_t item, const std::vector<std::int64_t>& needs) const;
  void descend(std::size_t item, std::int32_t left, const std::vector<std::int64_t>& needs,
               Ticks cost);

  const std::vector<RankCoverItem>& items_;
  const std::vector<std::int32_t>& weights_;
  std::size_t num_stages_;
  std::size_t num_needs_;
  std::vector<std::int64_t> rest_;  // [need][item + 1]: most that this item and those behind save
  std::vector<double> least_rate_;  // [need][item + 1]: least cost of a byte among them
  std::vector<Taken> chosen_, best_;
  Ticks best_cost_ = kNever;
  std::int64_t nodes_ = 0;
  std::int64_t most_nodes_ = 0;
  bool was_cut_off_ = false;
};

}  // namespace omnibal::joint
