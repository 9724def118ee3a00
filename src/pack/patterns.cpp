// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/patterns.h"

#include "pack/pattern_counts.h"

namespace omnibal::pack {

Packs pack_patterns(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                    const PackLimits& limits, std::uint64_t seed) {
  const SampleClasses classes = classify(samples, accepted, seed);
  CountedPacks packs;
  place_patterns(classes, all_counts(classes), limits.caps(), {}, packs);
  return expand(packs, classes, seed);
}

}  // namespace omnibal::pack
