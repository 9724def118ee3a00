// SPDX-License-Identifier: Apache-2.0
#include "pack/repair.h"

#include <gtest/gtest.h>

#include <numeric>

#include "omnibal/metrics/occupancy.h"
#include "pack/best_fit_counts.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

/// Images of a few sizes with their tokens and some text, or any lengths at all.
TestSamples any_samples(PhiloxRng& rng) {
  const std::uint32_t count = 50 + rng.below(800);
  if (rng.below(2) == 0) return random_samples(rng, count, 9, 4096);
  TestSamples samples;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t units = 1 + rng.below(5);
    samples.add(units, 256 * units + rng.below(700));
  }
  return samples;
}

TEST(RepairProperty, NeverMorePacksEachSampleOnceWithinTheCapsAndOftenFewer) {
  int fewer = 0;
  for (std::uint32_t trial = 0; trial < 40; ++trial) {
    SCOPED_TRACE(trial);
    PhiloxRng rng(trial, RngStream::kTest);
    const TestSamples samples = any_samples(rng);
    std::vector<std::uint32_t> all(samples.tokens.size());
    std::iota(all.begin(), all.end(), 0U);
    const metrics::PackCaps caps{.vision_units = 9 + rng.below(7), .tokens = 4096, .samples = 0};
    const SampleClasses classes = classify(samples.columns(), all, trial);
    CountedPacks packs = best_fit_of_orders(classes, caps);
    const std::int64_t before = packs.size();
    repair(classes, caps, packs);
    ASSERT_LE(packs.size(), before);
    fewer += packs.size() < before ? 1 : 0;
    const Packs expanded = expand(packs, classes, trial);
    ASSERT_EQ(placement_fault(expanded.view(), all), "");
    const auto loads = metrics::packed_loads(expanded.view(), samples.columns());
    ASSERT_EQ(metrics::count_over_cap(loads, caps), 0);
  }
  EXPECT_GE(fewer, 5);
}

}  // namespace
}  // namespace omnibal::pack
