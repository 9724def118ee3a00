// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {
namespace {

/// The lowest cuts whose stage sums are all at most `bound`, or nothing. Filling from the right,
/// each stage as full as the bound allows, makes every cut as low as it can be. Stage s leaves the
/// s layers that the stages before it need.
///
/// A sum is added up from the right; rounding keeps "fewer layers, no larger sum" true, so the
/// answer is exact for these sums.
std::optional<Cuts> fill_from_the_right(std::span<const double> weights, std::int32_t num_stages,
                                        double bound) {
  Cuts cuts(static_cast<std::size_t>(num_stages) - 1);
  auto begin = static_cast<std::int32_t>(weights.size());
  for (std::int32_t stage = num_stages - 1; stage >= 0; --stage) {
    double sum = 0;
    while (begin > stage) {
      const double longer = sum + weights[static_cast<std::size_t>(begin) - 1];
      if (longer > bound) break;
      sum = longer;
      --begin;
    }
    if (stage > 0) cuts[static_cast<std::size_t>(stage) - 1] = LayerIndex{begin};
  }
  if (begin > 0) return std::nullopt;
  return cuts;
}

}  // namespace

Result<Cuts> partition_min_max(std::span<const double> weights, std::int32_t num_stages) {
  OMNIBAL_RETURN_IF_ERROR(check_stages(static_cast<std::int64_t>(weights.size()), num_stages));
  double total = 0;
  for (std::size_t i = weights.size(); i > 0; --i) total += weights[i - 1];
  // Doubles that are not negative stand in the order of their bits: bisecting those ends, after at
  // most 63 steps, at the very least bound that can be met. `low` is never met (or is the heaviest
  // layer, below which nothing is; 0.0 + turns a negative zero into a positive one).
  auto low = std::bit_cast<std::uint64_t>(0.0 + *std::max_element(weights.begin(), weights.end()));
  auto high = std::bit_cast<std::uint64_t>(total);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const bool met =
        fill_from_the_right(weights, num_stages, std::bit_cast<double>(middle)).has_value();
    (met ? high : low) = met ? middle : middle + 1;
  }
  return *fill_from_the_right(weights, num_stages, std::bit_cast<double>(high));
}

}  // namespace omnibal::partition
