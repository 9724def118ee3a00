// SPDX-License-Identifier: Apache-2.0
//
// Neighbours: the partitions around an anchor, one after the other, least variance first.
//
//   Neighbours neighbours(weights, anchor, radius);
//   while (const std::optional<ScoredCuts> next = neighbours.next()) { ... }
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {

struct ScoredCuts {
  Cuts cuts;
  double squared_deviations = 0;  // of the stage sums from their mean: p x VAR
};

/// A* over the cuts from the first to the last. The estimate of what the open stages will add is
/// exact (a dynamic program over the windows), so a partition comes out per p steps or so, and k of
/// them cost O(k p (stage length + radius) + k p log k), whatever the size of the neighbourhood.
/// Costs that differ by rounding alone may come out in either order.
class Neighbours {
 public:
  /// Every cut of `anchor` moves within +- radius; no stage empty. `weights` must outlive this.
  Neighbours(std::span<const double> weights, const Cuts& anchor, std::int32_t radius);

  /// The next best, or nothing when all have been given.
  std::optional<ScoredCuts> next();

 private:
  /// Where stage `level` may begin; level p is the end of the list.
  struct Window {
    std::int32_t low = 0;
    std::int32_t high = 0;
    std::vector<double> rest;  // least cost of stages level.., by position - low
  };
  struct Node {
    double cost = 0;      // of the stages before `level`
    double estimate = 0;  // cost + least cost of the others
    std::int32_t level = 0;
    std::int32_t position = 0;
    std::int32_t parent = -1;
  };
  struct Later {
    const std::vector<Node>* nodes;
    bool operator()(std::int32_t a, std::int32_t b) const;
  };

  void fill_rest(std::int32_t level);
  /// Calls visit(position, cost of the stage) for every end of the stage `level` that begins at
  /// `begin`.
  template <class Visit>
  void for_each_end(std::int32_t level, std::int32_t begin, const Visit& visit) const;
  void expand(std::int32_t node);
  void push(const Node& node);

  std::span<const double> weights_;
  double mean_ = 0;
  std::vector<Window> windows_;  // [p + 1]
  std::vector<Node> nodes_;
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, Later> open_;
};

}  // namespace omnibal::partition
