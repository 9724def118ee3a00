// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "omnibal/base/philox.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {
namespace {

using Loads = std::vector<metrics::PackLoad>;

Loads random_loads(PhiloxRng& rng) {
  Loads loads(1 + rng.below(300));
  const std::uint32_t classes = 1 + rng.below(40);
  for (metrics::PackLoad& load : loads) {
    load = {rng.below(classes), rng.below(4097), rng.below(1U << 24)};
  }
  return loads;
}

StepOptions random_options(PhiloxRng& rng) {
  return {.dp = 1 + rng.below(12),
          .micro_batches = 1 + rng.below(6),
          .window = rng.below(20),
          .tail = static_cast<Tail>(rng.below(3)),
          .seed = rng.next_u64(),
          .forward = {0, 0.07, 0.0002, rng.uniform() * 1e-8}};
}

/// Every pack as often as the tail policy says, in whole steps on every rank.
void check_table(const StepTable& table, std::int64_t num_packs, const StepOptions& options) {
  const std::int64_t step = options.dp * options.micro_batches;
  ASSERT_EQ(static_cast<std::int64_t>(table.pack_ids.size()), table.num_steps * step);
  std::vector<std::int64_t> runs(static_cast<std::size_t>(num_packs));
  std::int64_t zero_weight = 0;
  for (const std::int64_t pack : table.pack_ids) {
    ASSERT_LT(pack, num_packs);
    if (pack == kZeroWeightPack) {
      ++zero_weight;
    } else {
      ++runs[static_cast<std::size_t>(pack)];
    }
  }
  std::int64_t dropped = 0;
  std::int64_t repeated = 0;
  for (const std::int64_t n : runs) {
    dropped += n == 0 ? 1 : 0;
    repeated += n > 1 ? n - 1 : 0;
  }
  ASSERT_EQ(zero_weight, table.zero_weight_packs);
  ASSERT_EQ(dropped, table.dropped_packs);
  ASSERT_EQ(repeated, table.repeated_packs);
  ASSERT_LT(zero_weight, step + options.dp);  // two incomplete groups at most
  ASSERT_LT(std::max(dropped, repeated), step);
  if (options.tail != Tail::kZeroWeight) {
    ASSERT_EQ(zero_weight, 0);
  }
  if (options.tail != Tail::kDrop) {
    ASSERT_EQ(dropped, 0);
  }
  if (options.tail != Tail::kRepeat) {
    ASSERT_EQ(repeated, 0);
  }
}

TEST(StepProperty, EveryRankHasTheSameCountAndNoPackIsLost) {
  PhiloxRng rng(31, RngStream::kTest);
  for (int trial = 0; trial < 3000; ++trial) {
    const Loads loads = random_loads(rng);
    const auto n = static_cast<std::int64_t>(loads.size());
    const StepOptions options = random_options(rng);
    SCOPED_TRACE(trial);
    const auto table = trial % 2 == 0 ? form_steps(loads, options) : deal_randomly(n, options);
    if (!table.ok()) {
      ASSERT_EQ(options.tail, Tail::kDrop);
      ASSERT_LT(n, options.dp * options.micro_batches);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(check_table(*table, n, options));
  }
}

TEST(StepProperty, VisionUnitsMixOnlyInGroupsOfWhatClassesHaveTooMany) {
  PhiloxRng rng(32, RngStream::kTest);
  for (int trial = 0; trial < 500; ++trial) {
    const Loads loads = random_loads(rng);
    const StepOptions options = random_options(rng);
    const auto table = form_steps(loads, options);
    if (!table.ok()) continue;
    std::set<std::int64_t> classes;
    for (const metrics::PackLoad& load : loads) classes.insert(load.vision_units);
    std::int64_t mixed = 0;
    // Rows behind these run packs again.
    const auto rows = std::min<std::int64_t>(
        table->grid().rows(),
        (static_cast<std::int64_t>(loads.size()) + options.dp - 1) / options.dp);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::set<std::int64_t> of_row;
      for (std::int64_t rank = 0; rank < options.dp; ++rank) {
        const std::int64_t pack =
            table->pack_ids[static_cast<std::size_t>(row * options.dp + rank)];
        if (pack >= 0) of_row.insert(loads[static_cast<std::size_t>(pack)].vision_units);
      }
      mixed += of_row.size() > 1 ? 1 : 0;
    }
    const auto left_over = static_cast<std::int64_t>(classes.size()) * (options.dp - 1);
    ASSERT_LE(mixed, (left_over + options.dp - 1) / options.dp) << "trial " << trial;
  }
}

}  // namespace
}  // namespace omnibal::steps
