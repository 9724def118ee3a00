// SPDX-License-Identifier: Apache-2.0
//
// What holds for every method, on random samples, limits and seeds.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/pack_bound.h"
#include "omnibal/pack/method.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

PackLimits random_limits(PhiloxRng& rng) {
  PackLimits limits = PackLimits::with_paper_floors(1 + rng.below(20), 1 + rng.below(5000));
  if (rng.below(2) == 0) limits.vision_floor = rng.below(25);
  if (rng.below(2) == 0) limits.token_floor = rng.below(6000);
  limits.rounds = 1 + rng.below(8);
  limits.max_samples = rng.below(2) == 0 ? 0 : 1 + rng.below(6);
  limits.token_multiple =
      rng.below(2) == 0 ? 1 : 1 + rng.below(static_cast<std::uint32_t>(limits.token_cap));
  return limits;
}

constexpr std::array kPackers = {Method::kIsf, Method::kBestFit, Method::kFirstFit,
                                 Method::kPatterns, Method::kAuto};

void expect_valid(const Packs& packs, const TestSamples& samples,
                  std::span<const std::uint32_t> accepted, const PackLimits& limits) {
  ASSERT_EQ(placement_fault(packs.view(), accepted), "");
  const auto loads = metrics::packed_loads(packs.view(), samples.columns());
  ASSERT_EQ(metrics::count_over_cap(loads, limits.caps()), 0);
  for (std::int64_t p = 0; p < packs.size() && limits.max_samples > 0; ++p) {
    ASSERT_LE(packs.view()[p].size(), static_cast<std::size_t>(limits.max_samples));
  }
}

/// All packers on one input; auto has no more packs than ISF and best fit.
void check_packers(const TestSamples& samples, const PackLimits& limits, bool allow_empty,
                   std::uint64_t seed) {
  const auto admission = admit(samples.columns(), limits, {.allow_empty = allow_empty});
  if (!admission.ok()) {
    ASSERT_EQ(admission.error().code, ErrorCode::kNothingUsable);
    return;
  }
  ASSERT_EQ(admission->accepted.size() + admission->rejected.size(), samples.tokens.size());
  // The sizes from which auto tries less, so small that all its lists of candidates are tried.
  const std::size_t size = admission->accepted.size();
  const AutoOptions automatic{.threads = 1,
                              .small_input = seed % 3 == 0 ? size : 0,
                              .large_input = seed % 3 == 1 ? 0 : size};
  std::map<Method, std::int64_t> packs_of;
  for (const Method method : kPackers) {
    SCOPED_TRACE(to_string(method));
    const Packs packs = group_samples(method, samples.columns(), admission->accepted,
                                      {.limits = limits, .seed = seed, .automatic = automatic})
                            .packs;
    expect_valid(packs, samples, admission->accepted, limits);
    packs_of[method] = packs.size();
  }
  const std::int64_t bound =
      metrics::pack_lower_bound(samples.columns(), admission->accepted, limits.caps());
  for (const auto& [method, packs] : packs_of) ASSERT_GE(packs, bound) << to_string(method);
  ASSERT_LE(packs_of[Method::kAuto], packs_of[Method::kIsf]);
  ASSERT_LE(packs_of[Method::kAuto], packs_of[Method::kBestFit]);
}

TEST(PackProperty, PlacedAndRejectedAreAllSamples) {
  PhiloxRng rng(21, RngStream::kTest);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const TestSamples samples =
        random_samples(rng, 1 + rng.below(60), 1 + rng.below(24), 1 + rng.below(6000));
    const PackLimits limits = random_limits(rng);
    check_packers(samples, limits, limits.max_samples > 0 && rng.below(2) == 0, rng.next_u64());
    if (HasFatalFailure()) return;
  }
}

TEST(PackProperty, HoldsForManySamplesOfFewLengthsAndOfMany) {
  PhiloxRng rng(23, RngStream::kTest);
  for (int trial = 0; trial < 6; ++trial) {
    SCOPED_TRACE(trial);
    const std::uint32_t max_tokens = trial % 2 == 0 ? 20 : 4000;
    const TestSamples samples = random_samples(rng, 2000, 1 + rng.below(30), max_tokens);
    const PackLimits limits = random_limits(rng);
    check_packers(samples, limits, false, rng.next_u64());
    if (HasFatalFailure()) return;
  }
}

TEST(PackProperty, HoldsAtTheLargestCaps) {
  PhiloxRng rng(24, RngStream::kTest);
  const auto largest = static_cast<std::uint32_t>(kLargestCap);
  for (int trial = 0; trial < 6; ++trial) {
    SCOPED_TRACE(trial);
    const TestSamples samples =
        random_samples(rng, 500, trial % 2 == 0 ? largest : 3, largest >> rng.below(6));
    PackLimits limits = PackLimits::with_paper_floors(kLargestCap, kLargestCap);
    limits.rounds = 5;
    check_packers(samples, limits, false, rng.next_u64());
    if (HasFatalFailure()) return;
  }
}

TEST(PackProperty, BaselinesPlaceEverySampleAndDealWholeRows) {
  PhiloxRng rng(22, RngStream::kTest);
  for (int trial = 0; trial < 1000; ++trial) {
    const TestSamples samples = random_samples(rng, rng.below(200), 5, 3000);
    std::vector<std::uint32_t> accepted;
    for (std::uint32_t i = 0; i < samples.tokens.size(); ++i) {
      if (rng.below(5) != 0) accepted.push_back(i);
    }
    const MicroBatchOptions options{.size = 1 + rng.below(6), .dp = 1 + rng.below(9)};
    for (const Method method :
         {Method::kRandom, Method::kSorted, Method::kLengthGrouped, Method::kDeviceGroup}) {
      const Grouping grouping = group_samples(method, samples.columns(), accepted,
                                              {.micro_batches = options, .seed = rng.next_u64()});
      ASSERT_EQ(placement_fault(grouping.packs.view(), accepted), "") << to_string(method);
      ASSERT_EQ(grouping.grid.size() % static_cast<std::size_t>(options.dp), 0U);
      std::vector<bool> seen(static_cast<std::size_t>(grouping.packs.size()));
      for (const std::int64_t id : grouping.grid) {
        ASSERT_EQ(grouping.packs.view()[id].size(), static_cast<std::size_t>(options.size));
        ASSERT_FALSE(seen[static_cast<std::size_t>(id)]);
        seen[static_cast<std::size_t>(id)] = true;
      }
      // Less than a row of micro-batches and less than a micro-batch a rank stay outside.
      ASSERT_GT(static_cast<std::int64_t>(grouping.grid.size()) + 2 * options.dp,
                static_cast<std::int64_t>(accepted.size()) / options.size)
          << to_string(method);
    }
  }
}

}  // namespace
}  // namespace omnibal::pack
