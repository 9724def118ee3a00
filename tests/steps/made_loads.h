// SPDX-License-Identifier: Apache-2.0
//
// Packs for tests: vision units 0 or 1 .. classes, tokens and token pairs at random.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/steps/step_reader.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

using Loads = std::vector<metrics::PackLoad>;

inline Loads made_loads(std::int64_t n, std::uint32_t classes, std::uint64_t seed,
                        std::int64_t least_vision = 1) {
  PhiloxRng rng(seed, RngStream::kTest);
  Loads loads;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t tokens = 2000 + rng.below(2000);
    const std::int64_t vision = least_vision + rng.below(classes);
    loads.push_back({vision, tokens, tokens * (500 + rng.below(1000))});
  }
  return loads;
}

/// A table and what it was formed of and with: a StepSource that lives as long as this.
struct MadeSteps {
  Loads loads;
  StepOptions options;
  StepTable table;

  StepSource source() const { return {&table, loads, options}; }
};

inline MadeSteps made_steps(Loads loads, const StepOptions& options) {
  auto table = form_steps(loads, options);
  EXPECT_TRUE(table.ok());
  return {std::move(loads), options, *std::move(table)};
}

/// How often each pack runs.
inline std::map<std::int64_t, int> runs_of(std::span<const std::int64_t> packs) {
  std::map<std::int64_t, int> runs;
  for (const std::int64_t pack : packs) {
    if (pack != kZeroWeightPack) ++runs[pack];
  }
  return runs;
}

/// The packs of an epoch, row by row.
inline std::vector<std::int64_t> epoch_of(const GroupPool& pool, std::uint64_t seed,
                                          std::uint32_t epoch) {
  const EpochOrder order(pool, {seed, epoch});
  std::vector<std::int64_t> packs(pool.table->pack_ids.size());
  const auto dp = static_cast<std::size_t>(pool.table->dp);
  for (std::size_t row = 0; row * dp < packs.size(); ++row) {
    order.row(static_cast<std::int64_t>(row), std::span(packs).subspan(row * dp, dp));
  }
  return packs;
}

}  // namespace omnibal::steps
