// SPDX-License-Identifier: Apache-2.0
//
// Levels of size: samples alike in vision units and tokens stand for each other, so that a linear
// program of a few dozen rows describes a million of them.
//
//   std::vector<SizedCount> sizes = {{1, 400, 1000, 0}, {1, 900, 10, 1}, {5, 1500, 20, 2}};
//   const auto levels = cut_into_levels(sizes, caps, 2);     // sizes are now in order of level
//   levels[0].tokens.low;      // no sample of level 0 is shorter
//
// Not a rounding: whoever uses a level decides whether its low ends, high ends or means count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/metrics/occupancy.h"

namespace omnibal::metrics {

/// `count` > 0 samples of one length; `id` is the caller's.
struct SizedCount {
  std::uint32_t vision = 0;
  std::uint32_t tokens = 0;
  std::int64_t count = 0;
  std::uint32_t id = 0;
};

struct SizeRange {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  double mean = 0;  // of the samples

  std::uint32_t spread() const { return high - low; }
};

/// Samples sizes[begin .. end).
struct SizeLevel {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t count = 0;
  SizeRange vision, tokens;
};

/// At most `max_levels` levels: the one that blurs most (samples x relative spread) is cut at the
/// mean of its wider resource, over and over. Reorders `sizes`. O(sizes x depth of the cuts).
std::vector<SizeLevel> cut_into_levels(std::span<SizedCount> sizes, const PackCaps& caps,
                                       std::size_t max_levels);

}  // namespace omnibal::metrics
