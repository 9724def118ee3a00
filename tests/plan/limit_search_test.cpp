// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/limit_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/limit_task.h"

namespace omnibal::plan {
namespace {

pack::TestSamples images(std::uint32_t n) {
  PhiloxRng rng(3, RngStream::kTest);
  return image_samples(rng, n);
}

TEST(LimitSearch, ChoosesCapsThatHoldEverySampleAndSaysWhy) {
  const pack::TestSamples samples = images(300);
  const TrainingTarget target = small_target(kAmple);
  const auto choice = choose_limits({.samples = samples.columns(), .target = target}, {});
  ASSERT_TRUE(choice.ok()) << to_text(choice.error());
  EXPECT_GE(choice->limits.vision_cap, 5);
  EXPECT_GE(choice->limits.token_cap, *std::ranges::max_element(samples.tokens));
  EXPECT_EQ(choice->too_large, 0);
  EXPECT_EQ(choice->best.vision_cap, choice->limits.vision_cap);
  ASSERT_FALSE(choice->runners_up.empty());
  for (const CapPrediction& other : choice->runners_up) {
    EXPECT_GE(other.seconds_per_sample, choice->best.seconds_per_sample);
    EXPECT_NE(other.vision_cap, choice->best.vision_cap);
  }
  ASSERT_TRUE(choice->paper.has_value());
  EXPECT_GE(choice->paper->seconds_per_sample, choice->best.seconds_per_sample);
}

TEST(LimitSearch, ThePredictionIsThatOfACallOfItsOwn) {
  const pack::TestSamples samples = images(300);
  const TrainingTarget target = small_target(kAmple);
  const LimitTask task{.samples = samples.columns(), .target = target};
  const auto choice = choose_limits(task, {});
  ASSERT_TRUE(choice.ok());
  const auto problem = limit_problem(task);
  ASSERT_TRUE(problem.ok());
  const CapPrediction again =
      predict_caps(*problem, choice->best.vision_cap, choice->best.token_cap);
  EXPECT_EQ(again.seconds_per_sample, choice->best.seconds_per_sample);
  EXPECT_EQ(again.peak_bytes, choice->best.peak_bytes);
}

TEST(LimitSearch, KeepsTheGlobalBatchWhateverTheCaps) {
  const pack::TestSamples samples = images(2000);
  const TrainingTarget target = small_target(kAmple, 128);
  const LimitTask task{.samples = samples.columns(), .target = target};
  const auto problem = limit_problem(task);
  ASSERT_TRUE(problem.ok());
  for (const auto& [vision, tokens] : {std::pair{5, 2000}, {9, 4096}, {20, 8192}}) {
    const CapPrediction p = predict_caps(*problem, vision, tokens);
    ASSERT_TRUE(p.fits());
    const double of_step =
        p.samples_per_pack * static_cast<double>(p.micro_batches * target.sizes.dp);
    EXPECT_NEAR(of_step, 128, p.samples_per_pack + 1e-9);  // half a micro-batch of 2 packs
  }
}

TEST(LimitSearch, LargerCapsMayNeedMoreRecomputationAndThenDoNotFit) {
  const pack::TestSamples samples = images(2000);
  const TrainingTarget target = small_target(std::int64_t{12} << 30, 64);
  const LimitTask task{.samples = samples.columns(), .target = target};
  const auto problem = limit_problem(task);
  ASSERT_TRUE(problem.ok());
  std::int64_t recomputed = 0;
  std::int64_t cap = 5;
  for (CapPrediction p = predict_caps(*problem, cap, 400 * cap); p.fits();
       cap *= 2, p = predict_caps(*problem, cap, 400 * cap)) {
    EXPECT_LE(p.peak_bytes, target.memory_bytes);
    EXPECT_GE(p.recomputed_layers, recomputed);
    recomputed = p.recomputed_layers;
  }
  EXPECT_GT(recomputed, 0);
  EXPECT_LT(cap, pack::kLargestCap);
}

TEST(LimitSearch, KeepsAGivenCap) {
  const pack::TestSamples samples = images(300);
  const TrainingTarget target = small_target(kAmple);
  const auto by_vision = choose_limits(
      {.samples = samples.columns(), .target = target, .asked = {.vision_cap = 7}}, {});
  ASSERT_TRUE(by_vision.ok());
  EXPECT_EQ(by_vision->limits.vision_cap, 7);
  EXPECT_TRUE(by_vision->vision.given);
  EXPECT_FALSE(by_vision->paper.has_value());
  const auto by_tokens = choose_limits(
      {.samples = samples.columns(), .target = target, .asked = {.token_cap = 3000}}, {});
  ASSERT_TRUE(by_tokens.ok());
  EXPECT_EQ(by_tokens->limits.token_cap, 3000);
}

TEST(LimitSearch, HoldsWhatAGivenCapAdmits) {
  pack::TestSamples samples = images(300);
  samples.add(12, 6000);
  const TrainingTarget target = small_target(kAmple);
  const auto choice = choose_limits(
      {.samples = samples.columns(), .target = target, .asked = {.vision_cap = 9}}, {});
  ASSERT_TRUE(choice.ok());
  EXPECT_LT(choice->limits.token_cap, 6000);  // the large sample is rejected for its units
  EXPECT_EQ(choice->too_large, 0);
}

TEST(LimitSearch, RejectsOnlyWhatNoCapsWithinMemoryHold) {
  pack::TestSamples samples = images(300);
  samples.add(5, 200000);
  samples.add(600, 3000);
  const TrainingTarget target = small_target(std::int64_t{16} << 30);
  const LimitTask task{.samples = samples.columns(), .target = target};
  const auto choice = choose_limits(task, {});
  ASSERT_TRUE(choice.ok()) << to_text(choice.error());
  EXPECT_EQ(choice->too_large, 2);
  EXPECT_GE(choice->limits.vision_cap, 5);
  EXPECT_LT(choice->limits.vision_cap, 600);
  EXPECT_LT(choice->limits.token_cap, 200000);
}

TEST(LimitSearch, SaysWhatIsMissingWhereNothingFits) {
  const pack::TestSamples samples = images(10);
  const TrainingTarget target = small_target(std::int64_t{1} << 30);
  const auto choice = choose_limits({.samples = samples.columns(), .target = target}, {});
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kMemoryInfeasible);
  EXPECT_THAT(choice.error().hint, testing::HasSubstr("--memory"));
}

TEST(LimitSearch, SaysThatNothingIsUsable) {
  pack::TestSamples samples;
  samples.add(1, 0, 3);
  samples.add(8, 500, 2);
  const TrainingTarget target = small_target(kAmple);
  const auto choice = choose_limits(
      {.samples = samples.columns(), .target = target, .asked = {.vision_cap = 3}}, {});
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kNothingUsable);
}

TEST(LimitSearch, RoundsTokenCapsToTheMultipleOfPacks) {
  const pack::TestSamples samples = images(300);
  const TrainingTarget target = small_target(kAmple);
  const auto choice = choose_limits(
      {.samples = samples.columns(), .target = target, .asked = {.rules = {.token_multiple = 24}}},
      {});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->limits.token_cap % 24, 0);
  EXPECT_EQ(choice->limits.token_multiple, 24);
  EXPECT_GE(choice->limits.usable_tokens(), *std::ranges::max_element(samples.tokens));
}

TEST(LimitSearch, IsTheSameForAnyNumberOfThreads) {
  const pack::TestSamples samples = images(200);
  const TrainingTarget target = small_target(kAmple);
  LimitTask task{.samples = samples.columns(), .target = target};
  task.threads = 1;
  const auto one = choose_limits(task, {});
  task.threads = 5;
  const auto many = choose_limits(task, {});
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_EQ(to_json(*one), to_json(*many));
}

TEST(LimitSearch, ExplainsInJson) {
  const pack::TestSamples samples = images(200);
  const TrainingTarget target = small_target(kAmple);
  const auto choice = choose_limits({.samples = samples.columns(), .target = target}, {});
  ASSERT_TRUE(choice.ok());
  const codec::Json json = to_json(*choice);
  EXPECT_EQ(json["model"], target.model_name);
  EXPECT_DOUBLE_EQ(json["seconds_per_1000_samples"].get<double>(),
                   1000 * choice->best.seconds_per_sample);
  EXPECT_EQ(json["runners_up"].size(), choice->runners_up.size());
  EXPECT_GE(json["runners_up"][0]["slower_by"].get<double>(), 0);
  EXPECT_TRUE(json["vision"].contains("binds"));
}

TEST(ReferenceTarget, IsThePapersClusterAndBatch) {
  const auto target = reference_target("internvl-chat-1.5-26b", 8);
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->sizes.gpus(), 64);
  EXPECT_EQ(target->global_batch, 1024);
  EXPECT_EQ(target->memory_bytes, target->cluster.usable_bytes());
}

}  // namespace
}  // namespace omnibal::plan
