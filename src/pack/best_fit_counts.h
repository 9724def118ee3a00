// SPDX-License-Identifier: Apache-2.0
//
// Best fit decreasing on counts: what best_fit.h offers, and what places the leftovers of other
// packers.
//
//   CountedPacks packs;
//   place_best_fit(classes, all_counts(classes), caps, SizeOrder::kLargerShare, packs);
//
// Not for packs that are to be looked at in between: it runs to the end.
#pragma once

#include "omnibal/metrics/occupancy.h"
#include "pack/counted_packs.h"
#include "pack/sample_classes.h"

namespace omnibal::pack {

/// What makes a sample large: the larger of its two shares of the caps; or the sum of their
/// squares, each weighted by how much of the resource all samples together ask for (Panigrahy et
/// al., Heuristics for Vector Bin Packing, 2011).
enum class SizeOrder { kLargerShare, kWeightedSquares };

/// Puts `counts` samples of each class, largest first, into the tightest packs that hold them:
/// those in `packs` already, or new ones. All equal packs in one step.
/// O((classes + steps) x rows of OpenPacks).
void place_best_fit(const SampleClasses& classes, const ClassCounts& counts,
                    const metrics::PackCaps& caps, SizeOrder order, CountedPacks& packs);

/// All samples, in the order of size that makes fewer packs: what pack_best_fit expands.
CountedPacks best_fit_of_orders(const SampleClasses& classes, const metrics::PackCaps& caps);

}  // namespace omnibal::pack
