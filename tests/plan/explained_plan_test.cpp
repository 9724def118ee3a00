// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

const Plan& explained() {
  static const Plan plan = [] {
    PlanRequest request = small_request();
    request.zero3_flops = 144e12;
    return *plan_small(small_corpus(), request);
  }();
  return plan;
}

TEST(ExplainedPlan, EndsItsStepsWithTheReductionUnlessLinksAreFree) {
  EXPECT_EQ(explained().update, simulate::Reduction::kDistributed);
  PlanRequest request = small_request();
  request.free_links = true;
  EXPECT_EQ(plan_small(small_corpus(), request)->update, simulate::Reduction::kNone);
}

TEST(ExplainedPlan, OrdersMicroBatchesForFasterStepsOfTheSamePacks) {
  const std::vector<AblationRow>& rows = explained().ablation;
  EXPECT_LT(rows.back().step_s, rows[rows.size() - 2].step_s);
  std::vector<std::int64_t> packs = explained().data.steps->pack_ids;
  std::erase(packs, steps::kZeroWeightPack);
  std::ranges::sort(packs);
  EXPECT_EQ(std::ranges::adjacent_find(packs), packs.end());
  EXPECT_EQ(packs.size(), explained().data.loads.size());
}

TEST(ExplainedPlan, KeepsTheWorstPackInTheFirstMicroBatch) {
  PlanRequest request = small_request();
  request.data.worst_first = true;
  const auto plan = plan_small(small_corpus(), request);
  ASSERT_TRUE(plan.ok());
  const auto& ids = plan->data.steps->pack_ids;
  const auto first_row = std::span(ids).first(static_cast<std::size_t>(plan->sizes.dp));
  EXPECT_THAT(first_row, testing::Contains(plan->data.worst->pack));
}

TEST(ExplainedPlan, RealPacksNeedNoMoreThanTheCaps) {
  EXPECT_GT(explained().prediction.peak_bytes_worst_pack, 0);
  EXPECT_LE(explained().prediction.peak_bytes_worst_pack, explained().prediction.peak_bytes);
}

TEST(ExplainedPlan, CertifiesItsSlowestStageAndEveryCut) {
  const PlanCertificate& certificate = explained().certificate;
  EXPECT_GT(certificate.lower_bound_s, 0);
  EXPECT_GE(certificate.bottleneck_s, certificate.lower_bound_s);
  EXPECT_DOUBLE_EQ(certificate.gap, certificate.bottleneck_s / certificate.lower_bound_s - 1);
  for (std::size_t i = 0; i < certificate.cuts.size(); ++i) {
    EXPECT_EQ(certificate.cuts[i].cut, explained().cuts[i]);
  }
}

TEST(ExplainedPlan, ChoosingWithTheTrueTimesIsNeverSlower) {
  ASSERT_EQ(explained().sensitivity.size(), 4u);
  for (const SensitivityCase& one : explained().sensitivity) {
    EXPECT_LE(one.best_step_s, one.step_s);
    EXPECT_DOUBLE_EQ(one.loss, one.step_s / one.best_step_s - 1);
    EXPECT_EQ(one.step_s > explained().prediction.step_s, one.factor > 1) << one.factor;
  }
}

TEST(ExplainedPlan, ScalesTheLayersOfOnePartOnly) {
  const cost::Profile& profile = explained().profile;
  const cost::Profile slower = scaled(profile, ModelPart::kVision, 2);
  const cost::Load load{4, 2000, 1e6};
  bool any_other = false;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const double factor =
        slower.layers[i].forward_s.at(load) / profile.layers[i].forward_s.at(load);
    const bool language = *profile.layers[i].kind != model::LayerKind::kPatchEmbedding &&
                          *profile.layers[i].kind != model::LayerKind::kVisionBlock &&
                          *profile.layers[i].kind != model::LayerKind::kProjector;
    any_other = any_other || language;
    if (profile.layers[i].forward_s.at(load) > 0) {
      EXPECT_DOUBLE_EQ(factor, language ? 1 : 2) << i;
    }
  }
  EXPECT_TRUE(any_other);
}

TEST(ExplainedPlan, GainsOnZero3FromPacksAndFromGroupsAlike) {
  ASSERT_TRUE(explained().zero3);
  const Zero3Prediction& zero3 = *explained().zero3;
  EXPECT_GT(zero3.baseline.gpu_days, zero3.balanced.gpu_days);
  EXPECT_GT(zero3.balanced.gpu_days, zero3.planned.gpu_days);
  EXPECT_LE(zero3.planned.peak_bytes, explained().memory_bytes);
}

TEST(ExplainedPlan, Zero3RatesAreAboveNothingAndNotAboveThePeak) {
  const auto cluster = *cluster::load_cluster("a100-80g");
  EXPECT_EQ(*zero3_rate(144, cluster), 144e12);
  EXPECT_EQ(zero3_rate(0, cluster).error().where.key, "--zero3");
  EXPECT_EQ(zero3_rate(313, cluster).error().where.key, "--zero3");
}

TEST(ExplainedPlan, ScalesPartsThatRecomputeButNotTheLinkToTheHost) {
  cost::Profile profile;
  cost::LayerProfile& layer = profile.layers.emplace_back();
  layer.kind = model::LayerKind::kLlmBlock;
  layer.recompute_choices = {{"mlp", {.constant = 3}, {}, {}},
                             {"offload", {.constant = 5}, {}, {}}};
  const cost::Profile slower = scaled(profile, ModelPart::kLanguage, 2);
  EXPECT_EQ(slower.layers[0].recompute_choices[0].recompute_s.constant, 6);
  EXPECT_EQ(slower.layers[0].recompute_choices[1].recompute_s.constant, 5);
}

}  // namespace
}  // namespace omnibal::plan
