// SPDX-License-Identifier: Apache-2.0
#include "corpus/drawing.h"

#include <cmath>

namespace omnibal::corpus {
namespace {

__extension__ using Wide = unsigned __int128;  // sums of weights times counts: below 2^126

void append_subset(std::int64_t rows, std::int64_t count, std::uint32_t first, PhiloxRng& rng,
                   std::vector<std::uint32_t>& order) {
  for (std::int64_t row = 0; count > 0; ++row) {
    if (rng.below(static_cast<std::uint32_t>(rows - row)) >= count) continue;
    order.push_back(first + static_cast<std::uint32_t>(row));
    --count;
  }
}

Wide sum_of(std::span<const RowWeight> weights) {
  Wide sum = 0;
  for (const RowWeight weight : weights) sum += weight;
  return sum;
}

/// How often each row is wanted: as many times as its stretch of the line of weights holds one of
/// `count` equidistant points, whose first is random.
std::vector<std::uint32_t> systematic_counts(std::span<const RowWeight> weights, std::int64_t count,
                                             PhiloxRng& rng) {
  const Wide sum = sum_of(weights);
  const Wide offset = sum * rng.next_u32() >> 32;
  std::vector<std::uint32_t> counts;
  counts.reserve(weights.size());
  Wide scaled = offset;
  Wide before = 0;
  for (const RowWeight weight : weights) {
    scaled += Wide{weight} * static_cast<Wide>(count);
    const Wide points = scaled / sum;
    counts.push_back(static_cast<std::uint32_t>(points - before));
    before = points;
  }
  return counts;
}

}  // namespace

RowWeight to_row_weight(double weight) {
  return static_cast<RowWeight>(std::floor(weight * static_cast<double>(kUnitWeight) + 0.5));
}

double total_weight(std::span<const RowWeight> weights) {
  return static_cast<double>(sum_of(weights)) / static_cast<double>(kUnitWeight);
}

std::int64_t draw_evenly(std::int64_t rows, std::int64_t count, std::uint32_t first, PhiloxRng& rng,
                         std::vector<std::uint32_t>& order) {
  for (std::int64_t repeat = 0; repeat < count / rows; ++repeat) {
    for (std::int64_t row = 0; row < rows; ++row) {
      order.push_back(first + static_cast<std::uint32_t>(row));
    }
  }
  append_subset(rows, count % rows, first, rng, order);
  return count < rows ? rows - count : 0;
}

std::int64_t draw_by_weight(std::span<const RowWeight> weights, std::int64_t count,
                            std::uint32_t first, PhiloxRng& rng,
                            std::vector<std::uint32_t>& order) {
  const std::vector<std::uint32_t> counts = systematic_counts(weights, count, rng);
  std::vector<std::uint32_t> wanted;  // rows that are to stand once more
  for (std::uint32_t row = 0; row < counts.size(); ++row) {
    if (counts[row] > 0) wanted.push_back(row);
  }
  const auto taken = static_cast<std::int64_t>(wanted.size());
  for (std::uint32_t times = 1; !wanted.empty(); ++times) {
    for (const std::uint32_t row : wanted) order.push_back(first + row);
    std::erase_if(wanted, [&](std::uint32_t row) { return counts[row] <= times; });
  }
  return static_cast<std::int64_t>(weights.size()) - taken;
}

}  // namespace omnibal::corpus
