// SPDX-License-Identifier: Apache-2.0
//
// Levelling: packs exchange samples until their loads are alike. Micro-batches of a step run
// through a pipeline one after the other, and a stage that meets a heavy one stalls the others:
// fewer packs are worth little if they differ.
//
//   Packs packs = pack_best_fit(samples, accepted, limits, seed);
//   level_packs(samples, limits, threads, packs);    // as many packs, the same samples
//   metrics::packed_loads(packs.view(), samples);    // nearer to each other
//
// Not for ranks that wait for each other: packs of one micro-batch are made alike by room steps.
#pragma once

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Rounds of exchanges, one sample for one, between packs of much and of little load; each lowers
/// the sum over packs of (vision units / their mean)^2 + (tokens / their mean)^2, and none passes a
/// cap. The same result for any number of threads. O(samples) a round; 12 bytes a sample.
void level_packs(const metrics::SampleColumns& samples, const PackLimits& limits, int threads,
                 Packs& packs);

}  // namespace omnibal::pack
