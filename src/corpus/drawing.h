// SPDX-License-Identifier: Apache-2.0
//
// Which rows of a source become samples, and how often. Private to the room.
//
//   std::vector<std::uint32_t> order;                 // rows, in corpus order
//   draw_evenly(/*rows=*/10, /*count=*/23, 0, rng, order);     // each twice, three of them thrice
//   draw_by_weight(row_weights, /*count=*/23, 0, rng, order);
//
// Not for how many each source gives: mixture.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/base/philox.h"

namespace omnibal::corpus {

/// A row's weight in units of 2^-32, so that sums are exact.
using RowWeight = std::uint64_t;
inline constexpr RowWeight kUnitWeight = RowWeight{1} << 32;
RowWeight to_row_weight(double weight);
/// The sum as a number of rows of weight 1.
double total_weight(std::span<const RowWeight> weights);

/// How often each row of a list without end is wanted: draw_by_weight without a total to meet.
class RunningDraw {
 public:
  /// `before`: the sum of the weights of rows drawn already, of which the whole part may be left
  /// out.
  explicit RunningDraw(PhiloxRng rng, RowWeight before = 0)
      : sum_((rng.next_u32() + before % kUnitWeight) % kUnitWeight) {}
  /// floor or ceil of the next row's weight, the weight in the mean over seeds.
  std::uint32_t times(RowWeight weight) {
    const RowWeight points = (sum_ % kUnitWeight + weight) / kUnitWeight;
    sum_ = (sum_ + weight) % kUnitWeight;
    return static_cast<std::uint32_t>(points);
  }

 private:
  RowWeight sum_;  // modulo one row
};

/// Appends `count` indices: all of [first, first + rows) once a whole repeat, then a random subset
/// of them in order, no index twice, every subset equally likely (selection sampling: Knuth, TAOCP
/// 2, 3.4.2 S). Returns how many indices were never appended. O(count + rows).
std::int64_t draw_evenly(std::int64_t rows, std::int64_t count, std::uint32_t first, PhiloxRng& rng,
                         std::vector<std::uint32_t>& order);

/// Appends `count` indices from `first` on, row i floor(e_i) or ceil(e_i) times where e_i = count x
/// weight_i / sum, and e_i times in the mean over seeds (systematic sampling: Madow, Annals of
/// Mathematical Statistics 20, 1949); those that stand twice come again behind all others, and so
/// on. The sum must not be 0. Returns how many rows were never appended. O(count + rows), 8 bytes a
/// row for the time.
std::int64_t draw_by_weight(std::span<const RowWeight> weights, std::int64_t count,
                            std::uint32_t first, PhiloxRng& rng, std::vector<std::uint32_t>& order);

}  // namespace omnibal::corpus
