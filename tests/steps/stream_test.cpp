// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/stream.h"

#include <gtest/gtest.h>

#include <map>

#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

using Ids = std::vector<std::int64_t>;

metrics::PackLoad random_load(PhiloxRng& rng) {
  const std::int64_t tokens = 1 + rng.below(4096);
  return {rng.below(10), tokens, tokens * (1 + rng.below(4096))};
}

std::vector<metrics::PackLoad> random_loads(std::size_t count) {
  PhiloxRng rng(85, RngStream::kTest);
  std::vector<metrics::PackLoad> loads(count);
  for (metrics::PackLoad& load : loads) load = random_load(rng);
  return loads;
}

Ids all_steps(StreamSteps& steps) {
  Ids ids;
  while (steps.has_step()) {
    const Ids step = steps.take();
    ids.insert(ids.end(), step.begin(), step.end());
  }
  return ids;
}

TEST(StepStream, AStreamWithinOneWindowGivesTheTableOfAnEpoch) {
  const std::vector<metrics::PackLoad> loads = random_loads(119);
  for (const Tail tail : {Tail::kZeroWeight, Tail::kDrop, Tail::kRepeat}) {
    const StepOptions options{.dp = 4, .micro_batches = 3, .window = 32, .tail = tail, .seed = 9};
    StreamSteps steps = *StreamSteps::create(options);
    // In any order: the packs are the same.
    for (std::size_t i = loads.size(); i-- > 0;) {
      steps.push({static_cast<std::int64_t>(i), loads[i]});
    }
    EXPECT_FALSE(steps.has_step());
    ASSERT_TRUE(steps.finish().ok());
    EXPECT_EQ(all_steps(steps), form_steps(loads, options)->pack_ids);
  }
}

TEST(StepStream, GroupsAreFarMoreAlikeThanInRandomOrder) {
  std::vector<metrics::PackLoad> loads = random_loads(20'000);
  for (metrics::PackLoad& load : loads) load.vision_units = 8 + load.vision_units % 2;
  const StepOptions options{.dp = 8, .micro_batches = 4, .window = 64, .seed = 9};
  StreamSteps steps = *StreamSteps::create(options);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    steps.push({static_cast<std::int64_t>(i), loads[i]});
  }
  ASSERT_TRUE(steps.finish().ok());
  const Ids ids = all_steps(steps);
  const StepTable random = *deal_randomly(static_cast<std::int64_t>(loads.size()), options);
  const StepTable epoch = *form_steps(loads, options);
  const auto dist = [&loads](const Ids& packs) {
    return metrics::dist_ratios({packs, 8}, loads, {.per_token = 1});
  };
  EXPECT_LT(dist(ids).vision, 0.1 * dist(random.pack_ids).vision);
  EXPECT_LT(dist(ids).tokens, 0.5 * dist(random.pack_ids).tokens);
  EXPECT_LT(dist(ids).attention, 0.5 * dist(random.pack_ids).attention);
  EXPECT_LT(dist(ids).tokens, 1.5 * dist(epoch.pack_ids).tokens);
}

TEST(StepStream, RepeatRunsPacksOfTheStepBefore) {
  const StepOptions options{
      .dp = 2, .micro_batches = 2, .window = 1, .tail = Tail::kRepeat, .seed = 3};
  const std::vector<metrics::PackLoad> loads = random_loads(41);
  StreamSteps steps = *StreamSteps::create(options);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    steps.push({static_cast<std::int64_t>(i), loads[i]});
  }
  while (steps.has_step()) steps.take();
  const StreamStepState before = steps.state();
  std::map<std::int64_t, int> allowed;
  for (const ArrivedPack& pack : before.last_step) ++allowed[pack.id];
  for (const ArrivedPack& pack : before.ready) ++allowed[pack.id];
  for (const auto* window : {&before.with_vision, &before.idle}) {
    for (const WaitingPack& waiting : *window) ++allowed[waiting.pack.id];
  }
  ASSERT_TRUE(steps.finish().ok());
  EXPECT_EQ(steps.state().repeated_packs, 3);
  for (const std::int64_t id : all_steps(steps)) EXPECT_GE(--allowed[id], 0) << id;
}

TEST(StepStream, WhatCannotBeAStreamIsRefused) {
  EXPECT_EQ(StreamSteps::create({.window = 0}).error().where.key, "window");
  EXPECT_EQ(StreamSteps::create({.dp = 8, .window = kLargestStep}).error().where.key, "window");
  EXPECT_EQ(StreamSteps::create({.dp = 0}).error().where.key, "dp");
}

TEST(StepStream, AnEndWithoutAStepIsAnError) {
  StreamSteps nothing = *StreamSteps::create({});
  EXPECT_EQ(nothing.finish().error().code, ErrorCode::kNothingUsable);
  StreamSteps few = *StreamSteps::create({.dp = 4, .tail = Tail::kDrop});
  few.push({0, {1, 100, 100}});
  EXPECT_EQ(few.finish().error().code, ErrorCode::kNothingUsable);
  EXPECT_FALSE(few.state().finished);
}

}  // namespace
}  // namespace omnibal::steps
