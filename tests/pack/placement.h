// SPDX-License-Identifier: Apache-2.0
//
// Test support: sample columns that own their data, random ones, and the check that packs hold
// each sample exactly once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/metrics/loads.h"

namespace omnibal::pack {

struct TestSamples {
  std::vector<std::uint32_t> vision;
  std::vector<std::uint32_t> tokens;

  void add(std::uint32_t units, std::uint32_t length, int times = 1) {
    vision.insert(vision.end(), static_cast<std::size_t>(times), units);
    tokens.insert(tokens.end(), static_cast<std::size_t>(times), length);
  }
  metrics::SampleColumns columns() const { return {vision, tokens}; }
};

/// `n` samples with lengths up to the given ones, both included.
inline TestSamples random_samples(PhiloxRng& rng, std::uint32_t n, std::uint32_t max_vision,
                                  std::uint32_t max_tokens) {
  TestSamples samples;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t vision = rng.below(max_vision + 1);
    samples.add(vision, rng.below(max_tokens + 1));
  }
  return samples;
}

/// Empty if `groups` hold exactly the samples of `expected` (ascending), each once, and no group
/// is empty; else what is wrong.
inline std::string placement_fault(const metrics::GroupView& groups,
                                   std::span<const std::uint32_t> expected) {
  std::vector<std::uint32_t> placed;
  for (std::int64_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) return "group " + std::to_string(g) + " is empty";
    placed.insert(placed.end(), groups[g].begin(), groups[g].end());
  }
  std::sort(placed.begin(), placed.end());
  if (std::equal(placed.begin(), placed.end(), expected.begin(), expected.end())) return "";
  return "placed " + std::to_string(placed.size()) + " samples that are not the " +
         std::to_string(expected.size()) + " expected";
}

}  // namespace omnibal::pack
