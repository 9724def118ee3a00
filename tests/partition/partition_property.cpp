// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "omnibal/base/philox.h"
#include "omnibal/partition/partition.h"
#include "partition/neighbours.h"
#include "partition/workload_w.h"

namespace omnibal::partition {
namespace {

/// Layer lists of many kinds: whole numbers (ties), reals, zeros, and one heavy layer.
std::vector<double> random_weights(PhiloxRng& rng, std::uint32_t most_layers) {
  std::vector<double> weights(1 + rng.below(most_layers));
  const bool whole = rng.below(2) == 0;
  for (double& w : weights) w = whole ? rng.below(5) : rng.uniform();
  if (rng.below(4) == 0) weights[rng.below(static_cast<std::uint32_t>(weights.size()))] = 20;
  return weights;
}

std::int32_t random_stages(PhiloxRng& rng, std::size_t num_layers) {
  return static_cast<std::int32_t>(
      1 + rng.below(static_cast<std::uint32_t>(std::min<std::size_t>(num_layers, 4))));
}

void append_all_cuts(std::int32_t num_layers, std::int32_t num_cuts, Cuts& prefix,
                     std::vector<Cuts>& all) {
  if (static_cast<std::int32_t>(prefix.size()) == num_cuts) {
    all.push_back(prefix);
    return;
  }
  for (std::int32_t at = prefix.empty() ? 1 : prefix.back().value() + 1; at < num_layers; ++at) {
    prefix.push_back(LayerIndex{at});
    append_all_cuts(num_layers, num_cuts, prefix, all);
    prefix.pop_back();
  }
}

/// Every partition, in lexicographic order.
std::vector<Cuts> all_cuts(std::size_t num_layers, std::int32_t num_stages) {
  Cuts prefix;
  std::vector<Cuts> all;
  append_all_cuts(static_cast<std::int32_t>(num_layers), num_stages - 1, prefix, all);
  return all;
}

TEST(PartitionProperty, MinMaxIsOptimalWithLowestCuts) {
  PhiloxRng rng(11, RngStream::kTest);
  for (int i = 0; i < 500; ++i) {
    const std::vector<double> weights = random_weights(rng, 10);
    const std::int32_t p = random_stages(rng, weights.size());
    const Cuts cuts = *partition_min_max(weights, p);
    double best = 1e300;
    for (const Cuts& other : all_cuts(weights.size(), p)) {
      best = std::min(best, bottleneck(weights, other));
    }
    EXPECT_NEAR(bottleneck(weights, cuts), best, 1e-12);
    for (const Cuts& other : all_cuts(weights.size(), p)) {
      if (bottleneck(weights, other) <= best - 1e-12) continue;
      if (bottleneck(weights, other) <= best + 1e-12) {
        EXPECT_LE(cuts, other);
        break;
      }
    }
  }
}

TEST(PartitionProperty, LeastVarianceIsOptimal) {
  PhiloxRng rng(12, RngStream::kTest);
  for (int i = 0; i < 500; ++i) {
    const std::vector<double> weights = random_weights(rng, 10);
    const std::int32_t p = random_stages(rng, weights.size());
    double best = 1e300;
    for (const Cuts& other : all_cuts(weights.size(), p)) {
      best = std::min(best, variance(weights, other));
    }
    EXPECT_NEAR(variance(weights, *partition_least_variance(weights, p)), best, 1e-12);
  }
}

TEST(PartitionProperty, LargeOffsetsDoNotHideTheVariance) {
  PhiloxRng rng(13, RngStream::kTest);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> weights(9);
    for (double& w : weights) w = 1e6 + rng.below(4);
    double best = 1e300;
    for (const Cuts& other : all_cuts(weights.size(), 3)) {
      best = std::min(best, variance(weights, other));
    }
    EXPECT_EQ(variance(weights, *partition_least_variance(weights, 3)), best);
  }
}

TEST(PartitionProperty, EverySolverCutsInOrderAndLeavesNoStageEmpty) {
  PhiloxRng rng(14, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const std::vector<double> weights = random_weights(rng, 40);
    const auto n = static_cast<std::int32_t>(weights.size());
    const auto p = static_cast<std::int32_t>(1 + rng.below(static_cast<std::uint32_t>(n)));
    for (const Result<Cuts>& cuts :
         {partition_min_max(weights, p), partition_least_variance(weights, p),
          partition_anchor(weights, p), partition_even_layers(n, p)}) {
      ASSERT_TRUE(cuts.ok());
      ASSERT_EQ(static_cast<std::int32_t>(cuts->size()), p - 1);
      for (const StageRange& range : stage_ranges(*cuts, n)) EXPECT_LT(range.begin, range.end);
    }
  }
}

/// Neighbours within the radius, as a filter of all partitions says.
std::vector<Cuts> neighbours_by_filter(std::size_t num_layers, const Cuts& anchor,
                                       std::int32_t radius) {
  std::vector<Cuts> near;
  for (const Cuts& cuts : all_cuts(num_layers, static_cast<std::int32_t>(anchor.size()) + 1)) {
    bool within = true;
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      within = within && std::abs(cuts[c].value() - anchor[c].value()) <= radius;
    }
    if (within) near.push_back(cuts);
  }
  return near;
}

TEST(PartitionProperty, BestFirstGivesEveryNeighbourOnceInOrderOfVariance) {
  PhiloxRng rng(15, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const std::vector<double> weights = random_weights(rng, 10);
    const std::int32_t p = random_stages(rng, weights.size());
    const auto radius = static_cast<std::int32_t>(rng.below(4));
    const Cuts anchor = *partition_anchor(weights, p);
    Neighbours neighbours(weights, anchor, radius);
    std::set<Cuts> given;
    double before = 0;
    while (const std::optional<ScoredCuts> next = neighbours.next()) {
      EXPECT_TRUE(given.insert(next->cuts).second);
      EXPECT_NEAR(next->squared_deviations / p, variance(weights, next->cuts), 1e-12);
      EXPECT_GE(next->squared_deviations, before - 1e-12);
      before = next->squared_deviations;
    }
    const std::vector<Cuts> expected = neighbours_by_filter(weights.size(), anchor, radius);
    EXPECT_EQ(given, std::set<Cuts>(expected.begin(), expected.end()));
  }
}

TEST(PartitionProperty, RankingOfTheFirstIsThatOfAll) {
  PhiloxRng rng(16, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const std::vector<double> weights = random_weights(rng, 10);
    const std::int32_t p = random_stages(rng, weights.size());
    std::vector<std::int64_t> bytes(weights.size());
    for (std::int64_t& b : bytes) b = rng.below(4);
    const BmpProblem problem{weights, bytes, p};
    const auto all = rank_neighbours(problem, {.radius = 2, .candidates = 100'000});
    const auto some = rank_neighbours(problem, {.radius = 2, .candidates = 3});
    ASSERT_EQ(some->size(), std::min<std::size_t>(3, all->size()));
    EXPECT_TRUE(std::equal(some->begin(), some->end(), all->begin()));
    double group = -1;
    for (std::size_t k = 0; k < all->size(); ++k) {
      const RankedCuts& ranked = (*all)[k];
      if (group < 0 || ranked.var_forward > group * 1.01) {
        // A new group begins: its least variance bounds it.
        group = ranked.var_forward;
        for (std::size_t j = k; j < all->size(); ++j) {
          group = std::min(group, (*all)[j].var_forward);
        }
      } else {
        EXPECT_GE(ranked.sum_comm_bytes, (*all)[k - 1].sum_comm_bytes);
      }
    }
  }
}

TEST(PartitionProperty, BmpDoesNotDependOnThreads) {
  PhiloxRng rng(17, RngStream::kTest);
  for (int i = 0; i < 20; ++i) {
    std::vector<double> weights(60);
    for (double& w : weights) w = 1 + rng.uniform();
    const std::vector<std::int64_t> bytes(weights.size(), 7);
    const auto evaluate = [&](const Cuts& cuts) { return bottleneck(weights, cuts); };
    const BmpProblem problem{weights, bytes, 6};
    const auto one = partition_bmp(problem, {.candidates = 50, .threads = 1}, evaluate);
    const auto two = partition_bmp(problem, {.candidates = 50, .threads = 2}, evaluate);
    EXPECT_EQ(*one, *two);
  }
}

}  // namespace
}  // namespace omnibal::partition
