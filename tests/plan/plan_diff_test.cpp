// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_diff.h"

#include <gtest/gtest.h>

#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

const PlanChange* find(const std::vector<PlanChange>& changes, const std::string& key) {
  const auto found = std::ranges::find(changes, key, &PlanChange::key);
  return found == changes.end() ? nullptr : &*found;
}

TEST(PlanDiff, APlanDoesWhatItselfDoes) {
  const corpus::Corpus corpus = small_corpus();
  const codec::Json document = to_json(*plan_small(corpus, small_request()), corpus);
  EXPECT_TRUE(plan_changes(document, document).empty());
}

TEST(PlanDiff, SaysWhatChangesAndByHowMuch) {
  const corpus::Corpus corpus = small_corpus();
  PlanRequest request = small_request();
  const Plan there = *plan_small(corpus, request);
  request.data.limits = pack::PackLimits::with_paper_floors(6, 3072);
  request.schedule = schedule::ScheduleKind::kZbH1;
  const Plan here = *plan_small(corpus, request);
  const auto changes = plan_changes(to_json(there, corpus), to_json(here, corpus));
  const PlanChange* cap = find(changes, "limits.vision_cap");
  ASSERT_NE(cap, nullptr);
  EXPECT_EQ(cap->other, 9);
  EXPECT_EQ(cap->now, 6);
  EXPECT_DOUBLE_EQ(*cap->ratio, 6.0 / 9);
  const PlanChange* schedule = find(changes, "schedule.kind");
  ASSERT_NE(schedule, nullptr);
  EXPECT_EQ(schedule->now, "zb-h1");
  EXPECT_FALSE(schedule->ratio.has_value());
  const PlanChange* step = find(changes, "prediction.step_s");
  ASSERT_NE(step, nullptr);
  EXPECT_DOUBLE_EQ(*step->ratio, here.prediction.step_s / there.prediction.step_s);
  EXPECT_EQ(find(changes, "parallel.tp"), nullptr);
}

TEST(PlanDiff, WhatOnePlanDoesNotSayIsNull) {
  const codec::Json there = {{"parallel", {{"tp", 2}}}};
  const codec::Json here = {{"parallel", {{"tp", 2}}}, {"schedule", {{"kind", "1f1b"}}}};
  const auto changes = plan_changes(there, here);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].key, "schedule.kind");
  EXPECT_TRUE(changes[0].other.is_null());
}

TEST(PlanDiff, WhatOnlyTheOtherPlanSaysIsNotLost) {
  const codec::Json there = {{"limits", {{"token_cap", 4096}, {"max_samples", 8}}},
                             {"recompute_choice", {{"3", "mlp"}}}};
  const codec::Json here = {{"limits", {{"token_cap", 4096}}}};
  const auto changes = plan_changes(there, here);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].key, "limits.max_samples");
  EXPECT_EQ(changes[0].other, 8);
  EXPECT_TRUE(changes[0].now.is_null());
  EXPECT_EQ(changes[1].key, "recompute_choice.3");
}

}  // namespace
}  // namespace omnibal::plan
