// SPDX-License-Identifier: Apache-2.0
//
// The packer that looks for the best: runs several, repairs what they leave, keeps the packs whose
// predicted time is least.
//
//   const AutoOptions options{.predicted_time = [](auto loads) { return seconds_of(loads); }};
//   const Packs packs = pack_auto(samples, admitted.accepted, limits, seed, options, progress);
//   packs.size();     // at most that of pack_isf and of pack_best_fit
//
// Not a judge of time itself: room pack knows neither steps nor costs, so the caller predicts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "omnibal/base/progress.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Seconds (or any measure of cost) of packs with these loads. Called from several threads at once.
using PackEvaluator = std::function<double(std::span<const metrics::PackLoad>)>;

struct AutoOptions {
  PackEvaluator predicted_time = {};  // absent: the fewest packs are the best
  int threads = 0;                    // 0: as many as the machine has
  /// Samples up to which more is tried, since chance decides more where packs are few; and beyond
  /// which less is, one candidate at a time, for time and memory.
  std::size_t small_input = std::size_t{1} << 16;
  std::size_t large_input = std::size_t{1} << 22;
};

/// The candidates are ISF with several seeds, best fit, and both best fit and patterns repaired
/// (docs/methods/packing.md); of large inputs fewer. Of those with no more packs
/// than ISF (same limits and seed) and best fit: the least predicted time, where times within
/// 1/2000 of each other count as equal and fewer packs win, since a prediction by load leaves out
/// what every step costs. The best are levelled (levelling.h), unless that takes 1/200 longer.
/// The same result for any number of threads. About 20 bytes a sample.
Packs pack_auto(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                const PackLimits& limits, std::uint64_t seed, const AutoOptions& options,
                const Progress& progress = {});

}  // namespace omnibal::pack
