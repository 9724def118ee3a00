// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/best_fit.h"

#include "pack/best_fit_counts.h"

namespace omnibal::pack {

CountedPacks best_fit_of_orders(const SampleClasses& classes, const metrics::PackCaps& caps) {
  CountedPacks best;
  place_best_fit(classes, all_counts(classes), caps, SizeOrder::kLargerShare, best);
  CountedPacks other;
  place_best_fit(classes, all_counts(classes), caps, SizeOrder::kWeightedSquares, other);
  return other.size() < best.size() ? other : best;
}

Packs pack_best_fit(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                    const PackLimits& limits, std::uint64_t seed) {
  const SampleClasses classes = classify(samples, accepted, seed);
  return expand(best_fit_of_orders(classes, limits.caps()), classes, seed);
}

}  // namespace omnibal::pack
