// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/size_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

/// The small corpus, a 300M + 0.5B model and one node of A100-80G.
class SizeSearch : public testing::Test {
 protected:
  SizeTask task(SizeQuestion asked) {
    return {.samples = columns(corpus_),
            .model = model_,
            .cluster = cluster_,
            .request = request_,
            .asked = asked};
  }

  corpus::Corpus corpus_ = small_corpus(200);
  model::ModelSpec model_ = *model::load_model("internvit-300m+qwen2.5-0.5b");
  cluster::ClusterSpec cluster_ = *cluster::load_cluster("a100-80g");
  PlanRequest request_ = small_request();
};

TEST_F(SizeSearch, RanksEverySizesThatMultiplyToTheDevices) {
  const auto choice = choose_sizes(task({.gpus = 8}), {});
  ASSERT_TRUE(choice.ok()) << to_text(choice.error());
  EXPECT_EQ(choice->ranked.size() + choice->refused.size(), 10u);  // 8 = 2^3 in three factors
  for (const SizeCandidate& candidate : choice->ranked) {
    EXPECT_EQ(candidate.sizes.gpus(), 8);
    EXPECT_GE(candidate.gpu_days, choice->best().gpu_days);
    EXPECT_FALSE(candidate.reason.empty());
    const TimeShares& shares = candidate.shares;
    EXPECT_NEAR(shares.model + shares.replicated + shares.tensor + shares.recompute + shares.idle,
                1, 1e-9);
  }
  EXPECT_TRUE(choice->best().caps.has_value());
}

TEST_F(SizeSearch, ThePredictionOfTheBestIsThatOfItsCaps) {
  const auto choice = choose_sizes(task({.gpus = 8, .tp = 1, .pp = 4}), {});
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->ranked.size(), 1u);
  const SizeCandidate& only = choice->best();
  EXPECT_EQ(only.sizes.dp, 2);
  EXPECT_EQ(only.prediction.vision_cap, 9);  // as given
  EXPECT_EQ(only.prediction.token_cap, 4096);
  EXPECT_DOUBLE_EQ(only.gpu_days, only.prediction.seconds_per_sample * 200 * 8 / 86400);
}

TEST_F(SizeSearch, OpenCapsAreNeverWorseThanThePapers) {
  const auto given = choose_sizes(task({.gpus = 8, .tp = 1}), {});
  request_.caps = CapQuestion{};
  const auto open = choose_sizes(task({.gpus = 8, .tp = 1}), {});
  ASSERT_TRUE(given.ok() && open.ok());
  EXPECT_LE(open->best().gpu_days, given->best().gpu_days * 1.001);
}

TEST_F(SizeSearch, TheSameForAnyNumberOfThreads) {
  request_.threads = 1;
  const auto one = choose_sizes(task({.gpus = 8}), {});
  request_.threads = 4;
  const auto four = choose_sizes(task({.gpus = 8}), {});
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(to_json(*one), to_json(*four));
}

TEST_F(SizeSearch, NoSizesSayWhatDoesNotDivide) {
  const auto choice = choose_sizes(task({.gpus = 9, .tp = 2}), {});
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kSizesDoNotDivide);
}

TEST_F(SizeSearch, TooLittleMemoryIsInfeasible) {
  request_.memory_bytes = 1 << 28;
  const auto choice = choose_sizes(task({.gpus = 8}), {});
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kMemoryInfeasible);
}

TEST_F(SizeSearch, FewestGpusKeepToTheHoursAndFewerDoNot) {
  const auto two = choose_sizes(task({.gpus = 2}), {});
  ASSERT_TRUE(two.ok());
  const double hours = 1.01 * two->hours();
  const auto looked_at = fewest_gpus(task({}), hours, 16, {});
  ASSERT_TRUE(looked_at.ok()) << to_text(looked_at.error());
  for (const SizeChoice& choice : *looked_at) {
    EXPECT_EQ(choice.hours() <= hours, choice.gpus >= 2) << choice.gpus;
  }
  const auto never = fewest_gpus(task({}), hours / 1000, 16, {});
  ASSERT_FALSE(never.ok());
  EXPECT_THAT(to_text(never.error()), testing::HasSubstr("16 GPUs"));
}

}  // namespace
}  // namespace omnibal::plan
