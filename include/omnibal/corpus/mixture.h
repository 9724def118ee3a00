// SPDX-License-Identifier: Apache-2.0
//
// Mixture: how many samples each of several sources gives to an epoch.
//
//   const MixtureOptions options{.weights = {{"ai2d", 0.3}, {"docs", 0.7}}, .epoch_samples = 1000};
//   OMNIBAL_RETURN_IF_ERROR(check_mixture(options));
//   samples_of_sources(sizes, options);      // {300, 700}, however long the two lists are
//
// Not for which rows those samples are: read_corpus draws them (corpus.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::corpus {

/// What a weight of a source may be.
inline constexpr double kSmallestWeight = 1e-9;
inline constexpr double kLargestWeight = 1e9;

struct SourceWeight {
  std::string source;
  double weight = 1;
};

/// An empty mixture takes every source as it is: each row once a repeat.
struct MixtureOptions {
  std::vector<SourceWeight> weights = {};                    // instead of those of a wrapper
  std::optional<double> temperature = std::nullopt;          // share ~ weight x size^(1 / T)
  std::optional<std::int64_t> epoch_samples = std::nullopt;  // absent: as many as without mixing
  std::uint64_t seed = 0;                                    // of what is drawn
};

/// "ai2d=0.3", split at the last equals sign. Error: kInvalidArgument.
Result<SourceWeight> parse_source_weight(const std::string& text);

/// kInvalidArgument: a weight outside of the above, a source with two weights, a temperature that
/// is not above 0 and finite, epoch_samples outside of 1 .. 2^31 - 1.
Status check_mixture(const MixtureOptions& options);

/// A source before anything of it is repeated or drawn.
struct SourceSize {
  double rows = 0;  // or the sum of the weights that its rows bear
  double repeat = 1;
  double weight = 1;
};

/// rows x repeat, rounded to the nearest (halves up); below 2^63.
std::int64_t natural_samples(const SourceSize& size);

/// Whether shares of the epoch are drawn: a weight other than 1, a temperature or a number of
/// samples is asked for.
bool is_drawn(std::span<const SourceSize> sizes, const MixtureOptions& options);

/// Samples that each source gives: natural_samples, or if shares are drawn its part of the epoch by
/// largest remainder (a tie goes to the earlier source), where
///   share ~ weight x (rows x repeat)^(1 / temperature),
/// and without a temperature ~ weight, unless all weights are 1: then ~ rows x repeat.
/// A source without rows gives none; one at least must have rows. O(sources log sources); no libm,
/// so that the counts are the same on every machine.
std::vector<std::int64_t> samples_of_sources(std::span<const SourceSize> sizes,
                                             const MixtureOptions& options);

}  // namespace omnibal::corpus
