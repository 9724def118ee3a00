// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "omnibal/plan/epoch.h"
#include "omnibal/simulate/stage_memory.h"
#include "plan/pipeline_choice.h"
#include "plan/small_plan.h"
#include "plan/spread_tower.h"

namespace omnibal::plan {
namespace {

using schedule::VisionPlace;

const std::vector<Layout> kOthers = {Layout::kColocated, Layout::kDisjoint};

Plan compared(const cluster::ParallelSizes& sizes, bool free_links = true) {
  PlanRequest request = small_request();
  request.sizes = sizes;
  request.free_links = free_links;
  request.layouts = kOthers;
  return *plan_small(small_corpus(), request);
}

TEST(Layouts, AreRankedBestFirstWithThePlansOwnAmongThem) {
  const Plan plan = compared({1, 4, 2}, false);
  const LayoutComparison& layouts = *plan.layouts;
  ASSERT_EQ(layouts.ranked.size(), 4u);  // before, nested, apart and the pipeline's
  EXPECT_TRUE(layouts.refused.empty());
  for (std::size_t i = 0; i < layouts.ranked.size(); ++i) {
    const LayoutPrediction& one = layouts.ranked[i];
    EXPECT_GE(one.step_s, layouts.ranked.front().step_s);
    EXPECT_LE(one.peak_bytes, plan.memory_bytes);
    EXPECT_FALSE(one.reason.empty());
    EXPECT_EQ(one.tower.has_value(), one.layout != Layout::kIntegrated);
    if (!one.tower) {
      EXPECT_EQ(one.step_s, plan.prediction.step_s);
    }
  }
}

/// With tp 1 the tower's times are the analytic profile's own, so that the step can be simulated
/// from it and the published action lists alone.
TEST(Layouts, PredictWhatTheirSchedulesTake) {
  const Plan plan = compared({1, 4, 2});
  for (const LayoutPrediction& one : plan.layouts->ranked) {
    if (!one.tower) continue;
    const auto chunks = one.schedule.chunks;
    const auto language_ranks = static_cast<std::int32_t>(
        one.layout == Layout::kDisjoint ? plan.sizes.pp - one.tower->ranks : plan.sizes.pp);
    const auto language =
        schedule::make_schedule(one.schedule.kind, language_ranks * chunks,
                                static_cast<std::int32_t>(plan.micro_batches), {.chunks = chunks});
    const auto whole = schedule::with_vision_stage(
        *language, {one.tower->place, static_cast<std::int32_t>(one.tower->ranks)});
    const StepPipeline pipeline{
        .schedule = *simulate::compile(whole),
        .stages = simulate::stage_costs(plan.profile, one.cuts, one.recompute),
        .links = {}};
    const std::vector<double> seconds =
        step_seconds(pipeline, *plan.data.steps, plan.data.loads, 1);
    const double mean =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    EXPECT_NEAR(one.step_s, mean, 1e-12 * mean) << to_string(one.layout);
    EXPECT_EQ(one.cuts.front().value(), num_vision_layers(plan.profile));
  }
}

/// Least busy time of the slowest rank among all cuts of the language layers, nothing recomputed.
double least_bottleneck_s(std::span<const cost::LayerCost> language, std::int64_t num_ranks) {
  std::vector<double> least(language.size() + 1, 0.0);
  for (std::int64_t rank = 0; rank < num_ranks; ++rank) {
    std::vector<double> next(language.size() + 1, std::numeric_limits<double>::infinity());
    for (std::size_t end = 1; end <= language.size(); ++end) {
      double busy_s = 0;
      for (std::size_t first = end; first-- > 0;) {
        busy_s += language[first].forward_s + language[first].backward_s();
        if (rank == 0 && first > 0) continue;
        next[end] = std::min(next[end], std::max(busy_s, rank == 0 ? 0.0 : least[first]));
      }
    }
    least = next;
  }
  return least.back();
}

TEST(Layouts, CarryACertificateOfTheirOwnCuts) {
  const Plan plan = compared({1, 4, 2});
  for (const LayoutPrediction& one : plan.layouts->ranked) {
    const PlanCertificate& certificate = one.certificate;
    EXPECT_LE(certificate.lower_bound_s, certificate.bottleneck_s);
    EXPECT_LE(one.bound_gpu_days, one.gpu_days);
    EXPECT_NEAR(one.bound_gpu_days, plan.bound_gpu_days, 1e-9 * plan.bound_gpu_days);  // tp 1
    for (const joint::CutReason& reason : certificate.cuts) {
      EXPECT_THAT(one.cuts, testing::Contains(reason.cut));
    }
    if (!one.tower || one.schedule != ScheduleSpec{}) continue;
    const auto costs = cost::evaluate(plan.profile, metrics::mean_load(plan.data.loads));
    const auto num_vision = static_cast<std::size_t>(one.cuts.front().value());
    const std::int64_t ranks =
        plan.sizes.pp - (one.layout == Layout::kDisjoint ? one.tower->ranks : 0);
    const double least_s = least_bottleneck_s(std::span(costs).subspan(num_vision), ranks);
    EXPECT_NEAR(certificate.lower_bound_s, least_s, 1e-9 * least_s) << to_string(one.layout);
    EXPECT_TRUE(certificate.proven);
  }
}

TEST(Layouts, OneRankLeavesNoneToATowerApart) {
  const Plan plan = compared({2, 1, 4});
  ASSERT_EQ(plan.layouts->refused.size(), 1u);
  EXPECT_EQ(plan.layouts->refused.front().layout, Layout::kDisjoint);
  EXPECT_THAT(plan.layouts->refused.front().reason, testing::HasSubstr("one rank"));
}

TEST(Layouts, StayWithinTheMemoryByRecomputingMore) {
  const auto recomputed = [](const LayoutComparison& layouts) {
    std::int64_t most = 0;
    for (const LayoutPrediction& one : layouts.ranked) {
      if (one.tower) most = std::max(most, std::ranges::count(one.recompute, true));
    }
    return most;
  };
  const Plan plenty = compared({1, 4, 2});
  PlanRequest request = small_request();
  request.layouts = kOthers;
  std::int64_t most = 0;
  for (std::int64_t percent = 90; percent >= 20; percent -= 10) {
    request.memory_bytes = plenty.prediction.peak_bytes * percent / 100;
    const auto plan = plan_small(small_corpus(), request);
    if (!plan.ok()) break;
    for (const LayoutPrediction& one : plan->layouts->ranked) {
      EXPECT_LE(one.peak_bytes, *request.memory_bytes) << percent;
    }
    most = std::max(most, recomputed(*plan->layouts));
  }
  EXPECT_GT(most, recomputed(*plenty.layouts));
}

class SpreadTowers : public testing::Test {
 protected:
  cost::Profile spread(const SpreadTower& tower, std::int64_t tp) {
    return *spread_profile(model_, cluster_, {.tp = tp, .dp = 2}, {tp, 2, 2}, tower);
  }
  cost::Profile analytic(std::int64_t tp) {
    return *cost::analytic_profile(model_, cluster_, {.tp = tp, .dp = 2});
  }

  model::ModelSpec model_ = *model::load_model("internvit-300m+qwen2.5-0.5b");
  cluster::ClusterSpec cluster_ = *cluster::load_cluster("a100-80g");
  const cost::Load load_{8, 2304, 2304.0 * 2304};
};

TEST_F(SpreadTowers, ShareTheUnitsOfAMicroBatch) {
  const cost::Profile tower = spread({VisionPlace::kBefore, 1, 2}, 2);
  const cost::Profile alone = analytic(1);
  const cost::Profile split = analytic(2);
  const auto num_vision = static_cast<std::size_t>(num_vision_layers(tower));
  for (std::size_t i = 0; i < tower.layers.size(); ++i) {
    const double expected = i < num_vision ? alone.layers[i].forward_s.at(load_) / 2
                                           : split.layers[i].forward_s.at(load_);
    EXPECT_NEAR(tower.layers[i].forward_s.at(load_), expected, 1e-12 * expected) << i;
  }
}

TEST_F(SpreadTowers, ShardWeightsInANodeAndOptimizerStatesOverAll) {
  // 2 tensor x 2 pipeline x 2 data-parallel devices, all in one node of 8.
  const cost::Profile tower = spread({VisionPlace::kBefore, 1, 2}, 2);
  const cost::Profile alone = analytic(1);
  const std::size_t block = 2;
  const double parameters = alone.layers[block].parameters;
  EXPECT_NEAR(tower.layers[block].static_bytes.constant, parameters * 18 / 8, 1);
  // The largest layer is gathered with the next one's weights, its gradients whole.
  const double largest = std::ranges::max_element(alone.layers.begin(),
                                                  alone.layers.begin() + num_vision_layers(alone),
                                                  {}, &cost::LayerProfile::parameters)
                             ->parameters;
  EXPECT_NEAR(tower.layers[0].static_bytes.constant,
              alone.layers[0].parameters * 18 / 8 + largest * (2 * 2 + 4), 1);
}

TEST_F(SpreadTowers, WaitForTheDeviceWithMostUnitsUnlessTheyPoolThem) {
  EXPECT_EQ(unit_multiple({VisionPlace::kNested, 1, 2}, 4), 4);
  EXPECT_EQ(unit_multiple({VisionPlace::kNested, 2, 2}, 4), 2);
  EXPECT_EQ(unit_multiple({VisionPlace::kApart, 4, 2}, 4), 1);
  EXPECT_EQ(unit_multiple({VisionPlace::kBefore, 1, 2}, 4), 1);
}

/// What the memory of the language layers is lowered by is no less than what a rank holds.
TEST_F(SpreadTowers, ALanguageRankHoldsNoMoreMicroBatchesThanSaid) {
  for (const VisionPlace place : {VisionPlace::kBefore, VisionPlace::kNested}) {
    for (const std::int32_t micro_batches : {1, 3, 8, 13}) {
      const auto language =
          *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, 4, micro_batches);
      const auto whole = schedule::with_vision_stage(language, {place});
      const cost::Profile tower = spread({place, 1, 4}, 1);
      const auto num_vision = num_vision_layers(tower);
      const std::vector<cost::Load> loads(static_cast<std::size_t>(micro_batches), load_);
      const auto num_layers = static_cast<std::int32_t>(tower.layers.size());
      const partition::Cuts cuts = {LayerIndex{num_vision}, LayerIndex{num_layers - 3},
                                    LayerIndex{num_layers - 2}, LayerIndex{num_layers - 1}};
      const auto with = simulate::peak_bytes(whole, tower, cuts, {}, loads);
      std::int64_t fixed = 0;
      std::int64_t kept = 0;
      const std::vector<cost::LayerCost> costs = cost::evaluate(tower, load_);
      for (std::int32_t i = 0; i < num_vision; ++i) {
        fixed += costs[static_cast<std::size_t>(i)].static_bytes;
        kept += costs[static_cast<std::size_t>(i)].activation_bytes;
      }
      const partition::Cuts language_cuts(cuts.begin() + 1, cuts.end());
      cost::Profile rest = tower;
      rest.layers.erase(rest.layers.begin(), rest.layers.begin() + num_vision);
      partition::Cuts of_rest;
      for (const LayerIndex cut : language_cuts)
        of_rest.push_back(LayerIndex{cut.value() - num_vision});
      const auto without = simulate::peak_bytes(language, rest, of_rest, {}, loads);
      const std::int64_t most = fixed + held_by_language_rank({place, 1, 4}, micro_batches) * kept;
      for (std::size_t r = 0; r < without.size(); ++r) {
        EXPECT_LE(with[r], without[r] + most) << to_string(place) << " " << micro_batches;
      }
    }
  }
}

}  // namespace
}  // namespace omnibal::plan
