// SPDX-License-Identifier: Apache-2.0
//
// Groups of packs by the room that they have left, so that the tightest one that a sample fits is
// found in a few steps.
//
//   OpenPacks open(caps);
//   open.insert(group, room);
//   std::uint32_t g = open.take_tightest({.vision = 1, .tokens = 300});   // or kNone
//
// Not a packing: numbers of groups only (counted_packs.h holds what they are).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "omnibal/metrics/occupancy.h"

namespace omnibal::pack {

/// A set of small numbers that answers "the least member from x on" in three look-ups.
class SuccessorSet {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 15;
  static constexpr std::size_t kNone = kCapacity;

  SuccessorSet() : low_(kCapacity / 64) {}
  void insert(std::size_t x);
  void erase(std::size_t x);
  std::size_t successor(std::size_t x) const;

 private:
  std::vector<std::uint64_t> low_;      // a bit a number
  std::array<std::uint64_t, 8> mid_{};  // a bit a word of low_
};

struct Room {
  std::uint32_t vision = 0;
  std::uint32_t tokens = 0;
};

/// Groups lie in cells: a row for each number of vision units left, a column for each number of
/// tokens left. Caps above 63 units or 32,767 tokens share rows and columns: then a pack that would
/// just fit may be overlooked, never is one returned that does not fit.
class OpenPacks {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit OpenPacks(const metrics::PackCaps& caps);
  void insert(std::uint32_t group, Room room);
  /// Removes and returns the group with the fewest tokens left, then the fewest vision units left,
  /// among those that hold `sample`. O(rows).
  std::uint32_t take_tightest(Room sample);

 private:
  struct Found {
    std::size_t row = 0;
    std::size_t column = SuccessorSet::kNone;
    std::uint32_t before = kNone;  // the group in front of it in its cell's list
    std::uint32_t group = kNone;
  };
  std::uint32_t& head(std::size_t row, std::size_t column) {
    return heads_[row * num_columns_ + column];
  }
  Found tightest_in_row(std::size_t row, Room sample);
  std::uint32_t remove(const Found& found);

  int row_shift_ = 0;
  int column_shift_ = 0;
  std::size_t num_columns_ = 0;
  std::vector<SuccessorSet> rows_;    // columns that hold a group
  std::vector<std::uint32_t> heads_;  // [rows, columns] first group of a cell
  std::vector<std::uint32_t> next_;   // by group: the next in its cell
  std::vector<Room> room_;            // by group
};

}  // namespace omnibal::pack
