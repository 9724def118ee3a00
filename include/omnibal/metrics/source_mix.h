// SPDX-License-Identifier: Apache-2.0
//
// The mix of sources that training really sees: of all samples, of the placed ones, step by step.
//
//   const SourcedSamples samples{{corpus.vision, corpus.tokens}, corpus.source, num_sources};
//   const SourceMix mix = source_mix({table.pack_ids, table.num_steps, 32}, packs, samples);
//   mix.steps.samples.against_random;   // 1: as mixed as packs dealt at random; 3: grouped by
//   source
//
// Not for what mix was asked for: corpus/mixture.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/metrics/loads.h"

namespace omnibal::metrics {

/// Samples whose sources are known; `source[i]` < num_sources.
struct SourcedSamples {
  SampleColumns columns;
  std::span<const std::uint16_t> source;
  std::int64_t num_sources = 0;
};

struct SourceTotals {
  std::int64_t samples = 0;
  std::int64_t vision_units = 0;
  std::int64_t tokens = 0;

  friend bool operator==(const SourceTotals&, const SourceTotals&) = default;
};

/// Of each source, of all samples. O(samples).
std::vector<SourceTotals> source_totals(const SourcedSamples& samples);
/// Of each source, of these samples (corpus indices). O(members).
std::vector<SourceTotals> source_totals(const SourcedSamples& samples,
                                        std::span<const std::uint32_t> members);

/// A source's share of what steps (or windows of steps) train on.
struct ShareSpread {
  double share = 0;       // of the whole epoch
  double mean = 0;        // of the steps' shares
  double std = 0;         // of the population of steps
  double random_std = 0;  // expected if the same packs were dealt at random
  double min = 0;
  double max = 0;
};

struct MixSpread {
  std::vector<ShareSpread> sources;
  /// sqrt(sum std^2 / sum random_std^2) over the sources; 1 where random dealing has no spread
  /// either (one source, one step).
  double against_random = 1;
  double largest_deviation = 0;       // |share of a step - share of the epoch|
  std::int64_t deviating_source = 0;  // whose it is
};

/// Of steps or of windows. Those with an entry that is no pack are left out.
struct MixLevel {
  std::int64_t count = 0;
  MixSpread samples;
  MixSpread vision_units;
  MixSpread tokens;
};

/// Steps x sources beyond which their totals are not kept (100 MB).
inline constexpr std::int64_t kMostStepTotals = std::int64_t{1} << 22;

struct SourceMix {
  MixLevel steps;
  MixLevel windows;
  /// [steps, sources]: what each step trains on; empty beyond kMostStepTotals.
  std::vector<SourceTotals> step_totals;
};

struct StepEntries {
  std::span<const std::int64_t> pack_ids;  // equally many a step; negative ones are no packs
  std::int64_t num_steps = 1;
  std::int64_t steps_per_window = 1;  // steps behind the last whole window are in none
};

/// Steps are ratios of sums over their packs; random_std is that of a ratio under sampling without
/// replacement (Cochran, Sampling Techniques, 1977, 6.3-6.4): with a pack's a of b samples from the
/// source, R = sum a / sum b over all N runs of packs, n packs a step,
///   sqrt((1 - n / N) / n x sum (a - R b)^2 / (N - 1)) / mean b.
/// O(members + steps x sources); O(sources) memory beside the result.
SourceMix source_mix(const StepEntries& entries, const GroupView& packs,
                     const SourcedSamples& samples);

}  // namespace omnibal::metrics
