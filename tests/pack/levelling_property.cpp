// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/pack/isf.h"
#include "omnibal/pack/levelling.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

struct Spread {
  double vision = 0, tokens = 0;  // sums of squares over the mean's
};

Spread spread_of(const std::vector<metrics::PackLoad>& loads) {
  double vision = 0;
  double tokens = 0;
  Spread spread;
  for (const metrics::PackLoad& load : loads) {
    const auto v = static_cast<double>(load.vision_units);
    const auto t = static_cast<double>(load.tokens);
    vision += v;
    tokens += t;
    spread.vision += v * v;
    spread.tokens += t * t;
  }
  if (vision > 0) spread.vision /= vision * vision;
  if (tokens > 0) spread.tokens /= tokens * tokens;
  return spread;
}

TEST(LevelPacksProperty, SamePacksInNumberNoCapPassedSpreadNeverLarger) {
  for (std::uint32_t trial = 0; trial < 60; ++trial) {
    PhiloxRng rng(trial, RngStream::kTest);
    TestSamples samples;
    const std::uint32_t count = 1 + rng.below(3000);
    for (std::uint32_t i = 0; i < count; ++i) samples.add(rng.below(6), 1 + rng.below(2000));
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    const PackLimits limits =
        PackLimits::with_paper_floors(5 + rng.below(12), 2000 + rng.below(3000));
    const Packs before = pack_isf(samples.columns(), all, limits, trial);
    Packs after = before;
    level_packs(samples.columns(), limits, 1, after);
    EXPECT_EQ(after.offsets, before.offsets);
    EXPECT_EQ(placement_fault(after.view(), all), "");
    const auto loads = metrics::packed_loads(after.view(), samples.columns());
    EXPECT_EQ(metrics::count_over_cap(loads, limits.caps()), 0);
    const Spread was = spread_of(metrics::packed_loads(before.view(), samples.columns()));
    const Spread is = spread_of(loads);
    EXPECT_LE(is.vision + is.tokens, (was.vision + was.tokens) * (1 + 1e-12));
    Packs with_threads = before;
    level_packs(samples.columns(), limits, 4, with_threads);
    EXPECT_EQ(with_threads.samples, after.samples);
  }
}

TEST(LevelPacksProperty, TokensDrawTogetherWhereSamplesCanBeExchanged) {
  PhiloxRng rng(1, RngStream::kTest);
  TestSamples samples;
  for (int i = 0; i < 30000; ++i) samples.add(3, 769 + rng.below(500));
  std::vector<std::uint32_t> all(30000);
  std::iota(all.begin(), all.end(), 0U);
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  Packs packs = pack_isf(samples.columns(), all, limits, 0);
  const Spread before = spread_of(metrics::packed_loads(packs.view(), samples.columns()));
  level_packs(samples.columns(), limits, 1, packs);
  const Spread after = spread_of(metrics::packed_loads(packs.view(), samples.columns()));
  const double least = 1.0 / static_cast<double>(packs.size());  // all packs equal
  EXPECT_LT(after.tokens - least, 0.05 * (before.tokens - least));
}

}  // namespace
}  // namespace omnibal::pack
