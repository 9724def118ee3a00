// SPDX-License-Identifier: Apache-2.0
//
// What holds for every method, on random samples, limits and seeds.
#include <gtest/gtest.h>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/pack_bound.h"
#include "omnibal/pack/isf.h"
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

TEST(PackProperty, PlacedAndRejectedAreAllSamples) {
  PhiloxRng rng(21, RngStream::kTest);
  for (int trial = 0; trial < 2000; ++trial) {
    const TestSamples samples =
        random_samples(rng, 1 + rng.below(60), 1 + rng.below(24), 1 + rng.below(6000));
    const PackLimits limits = random_limits(rng);
    const bool allow_empty = limits.max_samples > 0 && rng.below(2) == 0;
    const auto admission = admit(samples.columns(), limits, {.allow_empty = allow_empty});
    if (!admission.ok()) {
      ASSERT_EQ(admission.error().code, ErrorCode::kNothingUsable) << "trial " << trial;
      continue;
    }
    ASSERT_EQ(admission->accepted.size() + admission->rejected.size(), samples.tokens.size());
    const Packs packs = pack_isf(samples.columns(), admission->accepted, limits, rng.next_u64());
    ASSERT_EQ(placement_fault(packs.view(), admission->accepted), "") << "trial " << trial;
    const auto loads = metrics::packed_loads(packs.view(), samples.columns());
    ASSERT_EQ(metrics::count_over_cap(loads, limits.caps()), 0) << "trial " << trial;
    for (std::int64_t p = 0; p < packs.size() && limits.max_samples > 0; ++p) {
      ASSERT_LE(packs.view()[p].size(), static_cast<std::size_t>(limits.max_samples));
    }
    ASSERT_GE(packs.size(),
              metrics::pack_lower_bound(samples.columns(), packs.samples, limits.caps()));
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
