// SPDX-License-Identifier: Apache-2.0
//
// Packing by patterns on counts: what patterns.h offers, and what packs anew the samples of bad
// packs.
//
//   CountedPacks packs;
//   place_patterns(classes, all_counts(classes), caps, {}, packs);
//
// Not for packs that are to be looked at in between: it runs to the end.
#pragma once

#include <cstddef>

#include "omnibal/metrics/occupancy.h"
#include "pack/counted_packs.h"
#include "pack/sample_classes.h"

namespace omnibal::pack {

struct PatternOptions {
  std::size_t levels = 64;
  /// Part of the token cap that patterns leave free: samples differ from the mean of their level,
  /// and few packs should miss by a hair.
  double margin = 1.0 / 512;
};

/// Adds packs of `counts` samples of each class to `packs`. Samples that the patterns leave over go
/// by best fit into any pack, those that were there already too.
void place_patterns(const SampleClasses& classes, const ClassCounts& counts,
                    const metrics::PackCaps& caps, const PatternOptions& options,
                    CountedPacks& packs);

}  // namespace omnibal::pack
