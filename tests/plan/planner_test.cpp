// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

TEST(Planner, AblationHasThePapersRowsThenOurs) {
  const corpus::Corpus corpus = small_corpus();
  const auto plan = plan_small(corpus, small_request());
  ASSERT_TRUE(plan.ok()) << to_text(plan.error());
  std::vector<std::string> names;
  for (const AblationRow& row : plan->ablation) names.push_back(row.name);
  EXPECT_THAT(names, testing::ElementsAre("baseline", "+data", "+model", "+memory", "+joint",
                                          "+steps", "+order"));
  EXPECT_DOUBLE_EQ(plan->ablation.front().speedup, 1);
}

TEST(Planner, IsNeverSlowerThanCutsAndRecomputationInTwoSteps) {
  const corpus::Corpus corpus = small_corpus();
  PlanRequest request = small_request();
  const auto roomy = plan_small(corpus, request);
  ASSERT_TRUE(roomy.ok());
  for (const int percent : {100, 80, 60}) {
    request.memory_bytes = roomy->prediction.peak_bytes * percent / 100;
    const auto plan = plan_small(corpus, request);
    ASSERT_TRUE(plan.ok()) << to_text(plan.error());
    EXPECT_LE(plan->ablation[4].step_s, plan->ablation[3].step_s * (1 + 1e-3)) << percent;
    for (const metrics::StageSummary& stage : plan->stages) {
      EXPECT_LE(stage.peak_bytes, *request.memory_bytes);
    }
  }
}

TEST(Planner, NothingIsFasterThanTheBoundWithoutIdleTime) {
  const corpus::Corpus corpus = small_corpus();
  const auto plan = plan_small(corpus, small_request());
  ASSERT_TRUE(plan.ok());
  for (const AblationRow& row : plan->ablation) {
    EXPECT_GT(row.gpu_days, plan->bound_gpu_days) << row.name;
  }
  EXPECT_GT(plan->prediction.gpu_days, plan->bound_gpu_days);
}

TEST(Planner, LinksOnlyEverCostTime) {
  const corpus::Corpus corpus = small_corpus();
  PlanRequest request = small_request();
  const auto modelled = plan_small(corpus, request);
  request.free_links = true;
  const auto free = plan_small(corpus, request);
  ASSERT_TRUE(modelled.ok() && free.ok());
  EXPECT_GT(modelled->prediction.step_s, free->prediction.step_s);
  EXPECT_DOUBLE_EQ(free->prediction.step_s, free->ablation.back().step_s);
}

TEST(Planner, IsTheSameForAnyNumberOfThreads) {
  const corpus::Corpus corpus = small_corpus();
  PlanRequest request = small_request();
  request.threads = 1;
  const auto one = plan_small(corpus, request);
  ASSERT_TRUE(one.ok());
  for (const int threads : {2, 7}) {
    request.threads = threads;
    const auto many = plan_small(corpus, request);
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(to_json(*many, corpus), to_json(*one, corpus));
    EXPECT_EQ(many->data.steps->pack_ids, one->data.steps->pack_ids);
  }
}

TEST(Planner, RecomputesMoreWithLessMemoryAndThenSaysWhatIsMissing) {
  const corpus::Corpus corpus = small_corpus();
  PlanRequest request = small_request();
  const auto roomy = plan_small(corpus, request);
  ASSERT_TRUE(roomy.ok());
  request.memory_bytes = roomy->prediction.peak_bytes * 7 / 10;
  const auto tight = plan_small(corpus, request);
  ASSERT_TRUE(tight.ok()) << to_text(tight.error());
  EXPECT_GT(std::ranges::count(tight->recompute, true), std::ranges::count(roomy->recompute, true));
  EXPECT_LE(tight->prediction.peak_bytes, *request.memory_bytes);
  request.memory_bytes = 1'000'000'000;
  const auto impossible = plan_small(corpus, request);
  ASSERT_FALSE(impossible.ok());
  EXPECT_EQ(impossible.error().code, ErrorCode::kMemoryInfeasible);
}

TEST(Planner, RefusesAGlobalBatchThatDoesNotDivide) {
  PlanRequest request = small_request();
  request.global_batch = 63;
  const auto plan = plan_small(small_corpus(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kSizesDoNotDivide);
  EXPECT_THAT(plan.error().hint,
              testing::AllOf(testing::HasSubstr("56"), testing::HasSubstr("64")));
}

TEST(Planner, RunsOnOneStageAndOneRank) {
  PlanRequest request = small_request();
  request.sizes = {.tp = 1, .pp = 1, .dp = 1};
  request.global_batch = 4;
  const auto plan = plan_small(small_corpus(20), request);
  ASSERT_TRUE(plan.ok()) << to_text(plan.error());
  EXPECT_TRUE(plan->cuts.empty());
  // One device, no padding: only recomputation separates the steps from the bound.
  EXPECT_NEAR(plan->ablation.back().gpu_days, plan->bound_gpu_days, 1e-9);
}

}  // namespace
}  // namespace omnibal::plan
