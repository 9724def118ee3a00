// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream_state.h"

#include <gtest/gtest.h>

#include "codec/scratch_directory.h"
#include "plan/made_stream.h"

namespace omnibal::plan {
namespace {

TEST(PlanStreamState, TwoSavesOfOneStateAreTheSameBytes) {
  const ScratchDirectory scratch;
  StreamPlanner planner = *StreamPlanner::create(small_options());
  for (const pack::StreamSample& sample : random_samples(300)) {
    ASSERT_TRUE(planner.push(sample).ok());
  }
  ASSERT_TRUE(save_stream(planner, codec::Json::object(), scratch / "a").ok());
  SavedStream saved = *load_stream(scratch / "a", small_options());
  const StreamPlanner again = *StreamPlanner::create(small_options(), std::move(saved.state));
  ASSERT_TRUE(save_stream(again, codec::Json::object(), scratch / "b").ok());
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "a")) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(content_of(entry.path()), content_of(scratch / "b/" + name)) << name;
  }
}

TEST(PlanStreamState, AnotherOptionIsRefusedByName) {
  const ScratchDirectory scratch;
  const StreamPlanner planner = *StreamPlanner::create(small_options());
  ASSERT_TRUE(save_stream(planner, codec::Json::object(), scratch / "state").ok());
  const auto refused = [&](const auto& change) {
    StreamOptions options = small_options();
    change(options);
    const auto saved = load_stream(scratch / "state", options);
    EXPECT_FALSE(saved.ok());
    EXPECT_EQ(saved.error().code, ErrorCode::kConflictingKeys);
    return saved.error().where.key;
  };
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.limits.token_cap = 4095; }),
            "options.limits.token_cap");
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.limits.max_samples = 7; }),
            "options.limits.max_samples");
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.window_samples = 61; }),
            "options.window_samples");
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.seed = 5; }), "options.seed");
  EXPECT_EQ(refused([](StreamOptions& o) { o.steps.dp = 4; }), "options.dp");
  EXPECT_EQ(refused([](StreamOptions& o) { o.steps.tail = steps::Tail::kDrop; }), "options.tail");
  EXPECT_EQ(refused([](StreamOptions& o) { o.steps.forward.per_token = 1; }),
            "options.forward.per_token");
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.limits.rounds = 7; }),
            "options.limits.rounds");
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.limits.token_multiple = 8; }),
            "options.limits.token_multiple");
  EXPECT_EQ(refused([](StreamOptions& o) { o.packing.method = pack::Method::kAuto; }),
            "options.method");
  EXPECT_EQ(
      refused([](StreamOptions& o) { o.packing.admission.over_long = pack::OverLong::kError; }),
      "options.over_long");
  EXPECT_EQ(refused([](StreamOptions& o) { o.steps.micro_batches = 4; }), "options.micro_batches");
  EXPECT_EQ(refused([](StreamOptions& o) { o.steps.window = 7; }), "options.window");
  EXPECT_EQ(refused([](StreamOptions& o) { o.steps.seed = 5; }), "options.step_seed");
  EXPECT_EQ(refused([](StreamOptions& o) { o.add_dummy = true; }), "options.dummy");
}

TEST(PlanStreamState, AnOptionLeftAwayIsRefusedByName) {
  const ScratchDirectory scratch;
  StreamOptions options = small_options();
  options.packing.limits.token_multiple = 8;
  const StreamPlanner planner = *StreamPlanner::create(options);
  ASSERT_TRUE(save_stream(planner, codec::Json::object(), scratch / "state").ok());
  ASSERT_TRUE(load_stream(scratch / "state", options).ok());
  const auto saved = load_stream(scratch / "state", small_options());
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::kConflictingKeys);
  EXPECT_EQ(saved.error().where.key, "options.limits.token_multiple");
}

/// Where all ranks are alike, rounding must not make the imbalance negative: the state that sums it
/// up could not be read any more.
TEST(PlanStreamState, AStreamOfEqualPacksCanBeResumed) {
  const ScratchDirectory scratch;
  // With these the sum of the ranks' predicted times is larger than so many times one of them.
  for (const std::int64_t dp : {7, 11}) {
    for (const std::uint32_t tokens : {3975U, 3983U}) {
      StreamOptions options = small_options();
      options.packing.window_samples = 8;
      options.steps.dp = dp;
      options.steps.window = 1;
      StreamPlanner planner = *StreamPlanner::create(options);
      for (std::int64_t id = 0; id < 100; ++id) {
        ASSERT_TRUE(planner.push({id, 9, tokens}).ok());
        while (planner.has_step()) planner.take();
      }
      ASSERT_GT(planner.state().steps.steps, 0);
      const metrics::DistRatios sum = planner.state().totals.dist_sum;
      EXPECT_EQ(std::max({sum.vision, sum.tokens, sum.attention, sum.time}), 0);
      ASSERT_TRUE(save_stream(planner, codec::Json::object(), scratch / "state").ok());
      const auto saved = load_stream(scratch / "state", options);
      EXPECT_TRUE(saved.ok()) << to_text(saved.error());
    }
  }
}

TEST(PlanStreamState, ADamagedStateIsRefused) {
  const ScratchDirectory scratch;
  StreamPlanner planner = *StreamPlanner::create(small_options());
  for (const pack::StreamSample& sample : random_samples(300)) {
    ASSERT_TRUE(planner.push(sample).ok());
    while (planner.has_step()) planner.take();
  }
  const std::string state = scratch / "state";
  ASSERT_TRUE(save_stream(planner, codec::Json::object(), state).ok());
  ASSERT_TRUE(load_stream(state, small_options()).ok());
  for (const auto& entry : std::filesystem::directory_iterator(state)) {
    const std::string path = entry.path();
    const std::string content = content_of(path);
    for (const std::size_t place : {content.size() / 3, content.size() / 2, content.size() - 2}) {
      std::string damaged = content;
      damaged[place] = static_cast<char>(damaged[place] ^ 1);
      scratch.write("state/" + entry.path().filename().string(), damaged);
      EXPECT_FALSE(load_stream(state, small_options()).ok()) << path << " at " << place;
    }
    scratch.write("state/" + entry.path().filename().string(),
                  content.substr(0, content.size() - 8));
    EXPECT_FALSE(load_stream(state, small_options()).ok()) << path;
    std::filesystem::remove(path);
    EXPECT_FALSE(load_stream(state, small_options()).ok()) << path;
    scratch.write("state/" + entry.path().filename().string(), content);
  }
  EXPECT_TRUE(load_stream(state, small_options()).ok());
  EXPECT_EQ(load_stream(scratch / "none", small_options()).error().code, ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace omnibal::plan
