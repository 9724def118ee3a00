// SPDX-License-Identifier: Apache-2.0
//
// The covering knapsack inside a stage: which layers recompute so that together they save at least
// `need` bytes at the least cost. Equal layers are one item with a count; a layer takes at most one
// of its item's options.
//
// Depth first by branch and bound, items in order of cost a byte, the bound being the linear
// relaxation over the convex hull of each item's options. Exact up to a number of nodes; then the
// bound of the root remains as the lower one: the relaxation, or the least that as many layers cost
// as must take part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "joint/ticks.h"

namespace omnibal::joint {

struct CoverOption {
  std::int64_t saving = 0;  // bytes of one micro-batch, > 0
  Ticks cost = 0;
  std::int32_t choice = 0;  // as LayerChoices have it

  friend bool operator==(const CoverOption&, const CoverOption&) = default;
};

/// Layers that are alike.
struct CoverItem {
  std::int32_t item_class = 0;  // the caller's name for it
  std::int32_t count = 0;
  std::span<const CoverOption> options;
};

/// A step along the hull of an item's options: from the option before to the next.
struct CoverIncrement {
  std::int32_t item = 0;  // index into the items
  std::int64_t saving = 0;
  Ticks cost = 0;
  std::int32_t choice = 0;  // of the option that it reaches
};

/// a.cost / a.saving < b.cost / b.saving, exactly.
bool is_cheaper(Ticks cost_a, std::int64_t saving_a, Ticks cost_b, std::int64_t saving_b);

inline bool is_cheaper(const CoverIncrement& a, const CoverIncrement& b) {
  return is_cheaper(a.cost, a.saving, b.cost, b.saving);
}

class CoveringKnapsack {
 public:
  /// Empties it. Then come items in order of their first increment's cost a byte, and increments of
  /// all in that order.
  void clear();
  void add(const CoverItem& item) { items_.push_back(item); }
  void add(const CoverIncrement& increment) { increments_.push_back(increment); }
  /// The increments of items that have one option each.
  void add_increments_of_single_options();
  /// Once all are there.
  void sum_up();
  std::int32_t num_items() const { return static_cast<std::int32_t>(items_.size()); }

  /// Least cost of a cover of `need` that is below `below`. lower == upper: exact. upper kNever:
  /// none was found below it (and if the search was not cut off, lower >= below). After a cover was
  /// found, `taken` says how many layers of an item take which option. Cut off after `most_nodes`
  /// beyond a first descent.
  struct Cover {
    Ticks lower = kNever;
    Ticks upper = kNever;
    std::int64_t nodes = 0;
  };
  Cover least_cover(std::int64_t need, Ticks below, std::int64_t most_nodes);

  struct Taken {
    std::int32_t item_class = 0;
    std::int32_t choice = 0;
    std::int32_t count = 0;
  };
  const std::vector<Taken>& taken() const { return best_; }

  /// The linear relaxation, rounded up; kNever if everything together does not cover.
  Ticks relaxed_cover(std::int64_t need) const;
  /// A cover: along the increments, the last one rounded up to whole layers. kNever as above.
  /// `taken`, if asked for: that cover.
  Ticks greedy_cover(std::int64_t need, std::vector<Taken>* taken = nullptr) const;

 private:
  struct Place {
    std::size_t item = 0;
    std::size_t option = 0;
    std::int32_t left = 0;  // layers of the item without an option
  };
  void descend(const Place& at, std::int64_t need, Ticks cost);
  void enter_item(std::size_t item, std::int64_t need, Ticks cost);
  /// The fewest layers that can save `need` at all, at the least that so many cost.
  Ticks bound_by_number(std::int64_t need) const;
  Ticks relaxed_from(const Place& at, std::int64_t need) const;
  Ticks relaxed_by_sums(std::size_t item, std::int64_t need) const;

  std::vector<CoverItem> items_;
  std::vector<CoverIncrement> increments_;
  // Where every item has one increment: running totals over whole items.
  std::vector<std::int64_t> saving_before_;
  std::vector<Ticks> cost_before_;
  bool by_sums_ = false;
  std::vector<Taken> chosen_, best_;
  Ticks best_cost_ = kNever;
  std::int64_t nodes_ = 0;
  std::int64_t most_nodes_ = 0;
  Ticks root_bound_ = 0;
};

}  // namespace omnibal::joint
