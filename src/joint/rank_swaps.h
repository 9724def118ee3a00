// SPDX-License-Identifier: Apache-2.0
//
// RankSwaps: a rank's recomputation made cheaper layer by layer, in exact bytes: what a search over
// kinds of nearly alike layers leaves on the table.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "joint/rank_caps.h"

namespace omnibal::joint {

/// Of one layer: its choice, 0 for none.
using LayerChoice = std::pair<std::int32_t, std::int32_t>;

class RankSwaps {
 public:
  /// `bytes` must outlive it.
  RankSwaps(const RankBytes& bytes, std::int64_t limit_bytes, std::span<const JointLayer> layers,
            const TickScale& scale, const RankSpans& spans);

  /// Starts with these choices; layers that are not named keep everything.
  void start_with(const std::vector<LayerChoice>& choices);
  /// Starts with the most that each layer saves within the caps.
  void start_within(const RankCaps& caps);

  /// Layers take cheaper choices, or none, those first that cost most a byte, as long as the rank
  /// stays within the limit. O(layers x moments).
  void drop();
  /// The same, and one layer takes a cheaper choice where another takes a dearer one, together
  /// cheaper: until no pair helps, or about kMostSwapsTried were tried.
  void swap();

  Ticks cost() const;
  std::vector<Ticks> cost_of_stages() const;
  std::vector<LayerChoice> choices() const;  // those that recompute

 private:
  struct Item {
    std::size_t stage = 0;
    std::int32_t layer = 0;
    std::vector<RankOption> options;  // the last one is to keep everything
    std::size_t taken = 0;

    const RankOption& now() const { return options[taken]; }
  };

  void take(Item& item, std::size_t option);
  bool fits() const;
  /// Whether it fits if both do so, which is then done.
  bool take_if_fits(Item& item, std::size_t option);
  bool swap_with(Item& item, Item& other);

  const RankBytes& bytes_;
  std::int64_t limit_bytes_;
  std::vector<Item> items_;
  std::vector<std::int64_t> most_held_;  // by stage
  std::vector<std::int64_t> savings_;
  std::int64_t tried_ = 0;
};

inline constexpr std::int64_t kMostSwapsTried = 4'000;

}  // namespace omnibal::joint
