// SPDX-License-Identifier: Apache-2.0
//
// Samples of equal length as one class with a count: a million samples have a few thousand
// lengths, and packing those instead is what makes search affordable.
//
//   SampleClasses classes = classify(samples, accepted, seed);
//   classes.count(c);               // samples of vision[c] units and tokens[c] tokens
//   classes.samples_of(c)[0];       // the corpus index of one of them
//
// Not a packing: which classes share a pack is in counted_packs.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/metrics/loads.h"

namespace omnibal::pack {

/// Classes in ascending order of (vision, tokens).
struct SampleClasses {
  std::vector<std::uint32_t> vision;   // units of a sample, by class
  std::vector<std::uint32_t> tokens;   // tokens of a sample, by class
  std::vector<std::int64_t> offsets;   // [classes + 1] into `samples`
  std::vector<std::uint32_t> samples;  // corpus indices, in random order inside each class

  std::size_t size() const { return vision.size(); }
  std::int64_t count(std::size_t c) const { return offsets[c + 1] - offsets[c]; }
  std::span<const std::uint32_t> samples_of(std::size_t c) const {
    return std::span(samples).subspan(static_cast<std::size_t>(offsets[c]),
                                      static_cast<std::size_t>(count(c)));
  }
};

/// Samples by class, in time O(samples) and 8 bytes a sample; the seed decides their order inside
/// a class, so that neighbours in the corpus do not end up in one pack.
SampleClasses classify(const metrics::SampleColumns& samples,
                       std::span<const std::uint32_t> accepted, std::uint64_t seed);

/// How many samples of each class are still to be placed.
using ClassCounts = std::vector<std::int64_t>;
ClassCounts all_counts(const SampleClasses& classes);

}  // namespace omnibal::pack
