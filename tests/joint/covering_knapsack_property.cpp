// SPDX-License-Identifier: Apache-2.0
#include "joint/covering_knapsack.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "joint/stage_knapsack.h"
#include "omnibal/base/philox.h"

namespace omnibal::joint {
namespace {

/// Kinds of layers with one option each, in the order that the knapsack asks for.
struct MadeItems {
  std::vector<CoverOption> options;
  std::vector<std::int32_t> counts;
  CoveringKnapsack knapsack;
};

MadeItems made_items(PhiloxRng& rng, std::uint32_t most_kinds, std::uint32_t most_alike) {
  MadeItems made;
  const std::uint32_t num_kinds = 1 + rng.below(most_kinds);
  const std::uint32_t size = rng.below(2) == 0 ? 6 : 1000;
  for (std::uint32_t k = 0; k < num_kinds; ++k) {
    made.options.push_back({1 + rng.below(size), rng.below(size), 1});
    made.counts.push_back(static_cast<std::int32_t>(1 + rng.below(most_alike)));
  }
  std::ranges::stable_sort(made.options, [](const CoverOption& a, const CoverOption& b) {
    return is_cheaper(a.cost, a.saving, b.cost, b.saving);
  });
  for (std::size_t k = 0; k < made.options.size(); ++k) {
    made.knapsack.add(CoverItem{static_cast<std::int32_t>(k), made.counts[k],
                                std::span(made.options).subspan(k, 1)});
  }
  made.knapsack.add_increments_of_single_options();
  made.knapsack.sum_up();
  return made;
}

Ticks brute_force(const MadeItems& made, std::int64_t need) {
  Ticks best = kNever;
  const std::function<void(std::size_t, std::int64_t, Ticks)> extend =
      [&](std::size_t k, std::int64_t saved, Ticks cost) {
        if (k == made.options.size()) {
          if (saved >= need) best = std::min(best, cost);
          return;
        }
        for (std::int32_t n = 0; n <= made.counts[k]; ++n) {
          extend(k + 1, saved + n * made.options[k].saving, cost + n * made.options[k].cost);
        }
      };
  extend(0, 0, 0);
  return best;
}

/// `taken` takes what there is, saves `need`, costs `cost`.
void expect_cover(const MadeItems& made, const std::vector<CoveringKnapsack::Taken>& all,
                  std::int64_t need, Ticks cost) {
  for (const CoveringKnapsack::Taken& taken : all) {
    const auto k = static_cast<std::size_t>(taken.item_class);
    EXPECT_GT(taken.count, 0);
    EXPECT_LE(taken.count, made.counts[k]);
    need -= taken.count * made.options[k].saving;
    cost -= taken.count * made.options[k].cost;
  }
  EXPECT_LE(need, 0);
  EXPECT_EQ(cost, 0);
}

TEST(CoveringKnapsackProperty, IsTheLeastCoverOfAll) {
  PhiloxRng rng(61, RngStream::kTest);
  int possible = 0;
  for (int i = 0; i < 3000; ++i) {
    MadeItems made = made_items(rng, 6, 4);
    std::int64_t all = 0;
    for (std::size_t k = 0; k < made.options.size(); ++k) {
      all += made.counts[k] * made.options[k].saving;
    }
    const std::int64_t need = 1 + rng.below(static_cast<std::uint32_t>(all) + 2);
    const Ticks best = brute_force(made, need);
    const CoveringKnapsack::Cover cover = made.knapsack.least_cover(need, kNever, 1 << 20);
    EXPECT_EQ(cover.upper, best) << i;
    EXPECT_EQ(cover.lower, best) << i;
    EXPECT_LE(made.knapsack.relaxed_cover(need), best);
    std::vector<CoveringKnapsack::Taken> greedy;
    const Ticks greedy_cost = made.knapsack.greedy_cover(need, &greedy);
    EXPECT_GE(greedy_cost, best);
    if (greedy_cost < kNever) expect_cover(made, greedy, need, greedy_cost);
    if (best == kNever) continue;
    ++possible;
    std::int64_t saved = 0;
    Ticks cost = 0;
    for (const CoveringKnapsack::Taken& taken : made.knapsack.taken()) {
      const auto k = static_cast<std::size_t>(taken.item_class);
      EXPECT_LE(taken.count, made.counts[k]);
      saved += taken.count * made.options[k].saving;
      cost += taken.count * made.options[k].cost;
    }
    EXPECT_GE(saved, need);
    EXPECT_EQ(cost, best);
    // Nothing is below the best, and one above it finds it.
    EXPECT_EQ(made.knapsack.least_cover(need, best, 1 << 20).upper, kNever);
    EXPECT_EQ(made.knapsack.least_cover(need, best + 1, 1 << 20).upper, best);
  }
  EXPECT_GT(possible, 2000);
}

TEST(CoveringKnapsackProperty, ASearchThatIsCutOffStillBoundsTheBest) {
  PhiloxRng rng(62, RngStream::kTest);
  int cut_off = 0;
  for (int i = 0; i < 300; ++i) {
    MadeItems made = made_items(rng, 40, 3);
    std::int64_t all = 0;
    for (std::size_t k = 0; k < made.options.size(); ++k) {
      all += made.counts[k] * made.options[k].saving;
    }
    const std::int64_t need = all / 2 + 1;
    const CoveringKnapsack::Cover whole = made.knapsack.least_cover(need, kNever, 1 << 22);
    const CoveringKnapsack::Cover part = made.knapsack.least_cover(need, kNever, 2);
    EXPECT_EQ(whole.lower, whole.upper);
    EXPECT_LE(part.lower, whole.upper);
    EXPECT_GE(part.upper, whole.upper);
    EXPECT_LT(part.upper, kNever);
    cut_off += part.lower < part.upper ? 1 : 0;
  }
  EXPECT_GT(cut_off, 30);
}

}  // namespace
}  // namespace omnibal::joint
