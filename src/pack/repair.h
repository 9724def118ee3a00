// SPDX-License-Identifier: Apache-2.0
//
// Packs made better by packing anew the samples of the emptiest ones.
//
//   CountedPacks packs = best_fit_of_orders(classes, caps);
//   repair(classes, caps, packs);     // never more packs than before
//
// Not for single packs: it dissolves fractions of all of them.
#pragma once

#include "pack/counted_packs.h"
#include "pack/sample_classes.h"

namespace omnibal::pack {

/// Dissolves the emptiest half of the packs, then the emptiest fifth, tenth, ... each time packing
/// their samples by patterns, and keeps what makes fewer packs. A pack is as full as the resource
/// that it uses most.
void repair(const SampleClasses& classes, const metrics::PackCaps& caps, CountedPacks& packs);

}  // namespace omnibal::pack
