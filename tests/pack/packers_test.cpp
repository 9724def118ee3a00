// SPDX-License-Identifier: Apache-2.0
//
// What best fit, first fit, patterns and auto do that ISF does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "omnibal/metrics/pack_bound.h"
#include "omnibal/pack/auto.h"
#include "omnibal/pack/best_fit.h"
#include "omnibal/pack/first_fit.h"
#include "omnibal/pack/isf.h"
#include "omnibal/pack/levelling.h"
#include "omnibal/pack/patterns.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

std::vector<std::uint32_t> all_of(const TestSamples& samples) {
  std::vector<std::uint32_t> ids(samples.tokens.size());
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

/// Vision units and tokens as in image corpora: 1 unit and little text, 3 or 5 and more.
TestSamples image_like(std::uint32_t n) {
  PhiloxRng rng(41, RngStream::kTest);
  TestSamples samples;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t units = std::array{1U, 1U, 3U, 5U}[rng.below(4)];
    samples.add(units, 256 * units + 30 + rng.below(300));
  }
  return samples;
}

TEST(BestFit, PutsASampleIntoTheFullestPackThatHoldsIt) {
  TestSamples samples;
  samples.add(0, 70);
  samples.add(0, 60);
  samples.add(0, 40);
  samples.add(0, 30);
  const Packs packs =
      pack_best_fit(samples.columns(), all_of(samples), PackLimits::with_paper_floors(1, 100), 0);
  ASSERT_EQ(packs.size(), 2);
  for (std::int64_t p = 0; p < 2; ++p) {
    std::uint32_t tokens = 0;
    for (const std::uint32_t i : packs.view()[p]) tokens += samples.tokens[i];
    EXPECT_EQ(tokens, 100U);
  }
}

TEST(BestFit, TheSeedDecidesWhichOfEqualSamplesMeet) {
  TestSamples samples;
  samples.add(1, 1000, 400);
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  const Packs one = pack_best_fit(samples.columns(), all_of(samples), limits, 1);
  EXPECT_EQ(pack_best_fit(samples.columns(), all_of(samples), limits, 1).samples, one.samples);
  EXPECT_NE(pack_best_fit(samples.columns(), all_of(samples), limits, 2).samples, one.samples);
  std::int64_t neighbours = 0;
  for (std::int64_t p = 0; p < one.size(); ++p) {
    const auto pack = one.view()[p];
    for (std::size_t k = 1; k < pack.size(); ++k) neighbours += pack[k] == pack[k - 1] + 1 ? 1 : 0;
  }
  EXPECT_LT(neighbours, 20);
}

/// Whether samples `a` and `b` share a pack.
bool together(const Packs& packs, std::uint32_t a, std::uint32_t b) {
  for (std::int64_t p = 0; p < packs.size(); ++p) {
    const auto pack = packs.view()[p];
    if (std::ranges::find(pack, a) != pack.end()) return std::ranges::find(pack, b) != pack.end();
  }
  return false;
}

TEST(FirstFit, PutsASampleIntoThePackOpenedFirstWhereBestFitTakesTheFullest) {
  TestSamples samples;
  samples.add(5, 60);  // opens the first pack
  samples.add(5, 55);  // its units do not fit beside the first's: opens the second
  samples.add(4, 41);  // its tokens do not fit in the first, fill the second to 96
  samples.add(0, 4);   // fits in both
  const PackLimits limits = PackLimits::with_paper_floors(9, 100);
  EXPECT_TRUE(together(pack_first_fit(samples.columns(), all_of(samples), limits, 0), 3, 0));
  EXPECT_TRUE(together(pack_best_fit(samples.columns(), all_of(samples), limits, 0), 3, 1));
}

/// Best mixed as 5 + 4 + 3 units; greedy packers pair the fives, and 2 units of 12 stay unused.
TestSamples fives_fours_threes() {
  TestSamples samples;
  samples.add(5, 1300, 300);
  samples.add(4, 1000, 100);
  samples.add(3, 800, 100);
  return samples;
}

TEST(Patterns, MixesWhatGreedyPackersPairUp) {
  const TestSamples samples = fives_fours_threes();
  const PackLimits limits = PackLimits::with_paper_floors(12, 4096);
  const auto bound = metrics::pack_lower_bound(samples.columns(), all_of(samples), limits.caps());
  EXPECT_EQ(bound, 200);
  EXPECT_EQ(pack_patterns(samples.columns(), all_of(samples), limits, 0).size(), 200);
  EXPECT_GT(pack_best_fit(samples.columns(), all_of(samples), limits, 0).size(), 200);
  EXPECT_GT(pack_isf(samples.columns(), all_of(samples), limits, 0).size(), 200);
}

TEST(Auto, ComesCloseToTheBoundWhereverACapBinds) {
  const TestSamples samples = image_like(4000);
  for (const std::int64_t vision_cap : {9, 12, 15}) {
    const PackLimits limits = PackLimits::with_paper_floors(vision_cap, 4096);
    const auto bound = metrics::pack_lower_bound(samples.columns(), all_of(samples), limits.caps());
    const Packs packs = pack_auto(samples.columns(), all_of(samples), limits, 0, {});
    EXPECT_LE(static_cast<double>(packs.size()), 1.01 * static_cast<double>(bound)) << vision_cap;
  }
}

TEST(Auto, IsTheSameForAnyNumberOfThreads) {
  const TestSamples samples = image_like(1500);
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  const Packs one = pack_auto(samples.columns(), all_of(samples), limits, 3, {.threads = 1});
  const Packs four = pack_auto(samples.columns(), all_of(samples), limits, 3, {.threads = 4});
  EXPECT_EQ(one.samples, four.samples);
  EXPECT_EQ(one.offsets, four.offsets);
}

TEST(Auto, KeepsTheLeastPredictedTimeAmongCandidatesWithinTheLimit) {
  const TestSamples samples = fives_fours_threes();
  const PackLimits limits = PackLimits::with_paper_floors(12, 4096);
  const std::int64_t isf = pack_isf(samples.columns(), all_of(samples), limits, 0).size();
  const std::int64_t best_fit = pack_best_fit(samples.columns(), all_of(samples), limits, 0).size();
  // An evaluator that likes many packs gets the most that the limit allows.
  const auto likes_many = [](std::span<const metrics::PackLoad> loads) {
    return 1 / static_cast<double>(loads.size());
  };
  const auto likes_few = [](std::span<const metrics::PackLoad> loads) {
    return static_cast<double>(loads.size());
  };
  const std::int64_t many =
      pack_auto(samples.columns(), all_of(samples), limits, 0, {likes_many}).size();
  const std::int64_t few =
      pack_auto(samples.columns(), all_of(samples), limits, 0, {likes_few}).size();
  EXPECT_EQ(many, std::min(isf, best_fit));
  EXPECT_EQ(few, 200);
  EXPECT_GT(many, 200);
}

/// What levelling would still take off the sum of squares of the packs' tokens, as a part of it.
double left_to_level(const TestSamples& samples, const PackLimits& limits, Packs packs) {
  const auto squares = [&] {
    double sum = 0;
    for (const metrics::PackLoad& load : metrics::packed_loads(packs.view(), samples.columns())) {
      sum += static_cast<double>(load.tokens) * static_cast<double>(load.tokens);
    }
    return sum;
  };
  const double before = squares();
  level_packs(samples.columns(), limits, 1, packs);
  return 1 - squares() / before;
}

TEST(Auto, LevelsItsPacksUnlessThatIsPredictedToTakeLonger) {
  TestSamples samples;
  PhiloxRng rng(9, RngStream::kTest);
  for (int i = 0; i < 6000; ++i) samples.add(3, 769 + rng.below(500));
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  const auto shortest = [](std::span<const metrics::PackLoad> loads) {
    return static_cast<double>(std::ranges::min(loads, {}, &metrics::PackLoad::tokens).tokens);
  };
  const Packs levelled = pack_auto(samples.columns(), all_of(samples), limits, 0, {});
  const Packs kept = pack_auto(samples.columns(), all_of(samples), limits, 0, {shortest});
  EXPECT_EQ(levelled.size(), kept.size());
  EXPECT_GT(left_to_level(samples, limits, kept),
            5 * left_to_level(samples, limits, levelled) + 1e-6);
}

TEST(Auto, HandlesNothingOneSampleAndEqualSamples) {
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  EXPECT_EQ(pack_auto({}, {}, limits, 0, {}).size(), 0);
  TestSamples samples;
  samples.add(2, 1000);
  EXPECT_EQ(pack_auto(samples.columns(), all_of(samples), limits, 0, {}).size(), 1);
  samples.add(2, 1000, 999);
  EXPECT_EQ(pack_auto(samples.columns(), all_of(samples), limits, 0, {}).size(), 250);
}

}  // namespace
}  // namespace omnibal::pack
