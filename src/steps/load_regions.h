// SPDX-License-Identifier: Apache-2.0
//
// LoadRegions: the space of loads cut into regions, in which packs wait until `group_size` of them
// have met. Inside room steps only.
//
//   LoadRegions regions(sample, num_regions, dp, rule);
//   for (...) if (const auto region = regions.add(pack, i)) regions.take(*region, group);
//
// Not for packs that are all there at once and few: group_alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "steps/loaded_pack.h"

namespace omnibal::steps {

class LoadRegions {
 public:
  /// A tree of at most `num_regions` leaves, cut where the packs of `sample` gain most
  /// (load_split.h). `links` has an entry for every id that will be added: lists of waiting ids
  /// are threaded through it. O(|sample| log num_regions).
  LoadRegions(std::vector<LoadedPack> sample, std::size_t num_regions, std::size_t group_size,
              const AlikeRule& rule, std::span<std::uint32_t> links);

  /// Puts `id` into its region; the region, once a group is complete there. O(depth).
  std::optional<std::size_t> add(const LoadedPack& pack, std::uint32_t id);
  /// The smallest region around the fullest ones that holds a group. At least one must wait.
  std::size_t fullest_region() const;
  /// Takes one group's ids out of `region`.
  void take(std::size_t region, std::span<std::uint32_t> group);
  std::size_t waiting() const { return nodes_.front().waiting; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Node {
    float at = 0;
    std::uint32_t load = 0;
    std::uint32_t light = kNone;  // child; the heavy one is next to it; kNone: a leaf
    std::uint32_t parent = kNone;
    std::uint32_t first = kNone;  // of a leaf: the list's head
    std::uint32_t waiting = 0;    // in the whole subtree
  };

  void grow(std::vector<LoadedPack> sample, std::size_t num_regions, const AlikeRule& rule);
  std::size_t take_from(std::uint32_t node, std::span<std::uint32_t> group);

  std::vector<Node> nodes_;
  std::size_t group_size_;
  std::span<std::uint32_t> links_;
};

}  // namespace omnibal::steps
