// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream.h"

#include <gtest/gtest.h>

#include <map>

#include "codec/scratch_directory.h"
#include "omnibal/base/philox.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/stream_state.h"

namespace omnibal::plan {
namespace {

constexpr cost::LinearCost kForward{.per_vision_unit = 0.07, .per_token = 2e-4};

StreamOptions small_options() {
  StreamOptions options;
  options.packing = {
      .limits = pack::PackLimits::with_paper_floors(9, 4096), .window_samples = 60, .seed = 4};
  options.steps = {.dp = 2, .micro_batches = 3, .window = 6, .seed = 4, .forward = kForward};
  return options;
}

/// Some above a cap, some without tokens, some without vision units.
std::vector<pack::StreamSample> random_samples(std::int64_t count, std::uint64_t seed = 1) {
  PhiloxRng rng(seed, RngStream::kTest);
  std::vector<pack::StreamSample> samples;
  for (std::int64_t id = 0; id < count; ++id) {
    samples.push_back({id, rng.below(8) == 0 ? 0 : 1 + rng.below(5), rng.below(2500)});
    if (rng.below(50) == 0) samples.back().tokens = 5000;
  }
  return samples;
}

struct StreamRun {
  std::vector<StreamStep> steps;
  std::int64_t rejected = 0;
  codec::Json summary;
};

bool same(const std::vector<StreamStep>& a, const std::vector<StreamStep>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const StreamStep& x, const StreamStep& y) {
                      return x.step == y.step && x.packs == y.packs;
                    });
}

StreamRun run(const std::vector<pack::StreamSample>& samples, const StreamOptions& options) {
  StreamPlanner planner = *StreamPlanner::create(options);
  StreamRun result;
  for (const pack::StreamSample& sample : samples) {
    result.rejected += planner.push(sample)->has_value() ? 1 : 0;
    while (planner.has_step()) result.steps.push_back(planner.take());
  }
  EXPECT_TRUE(planner.finish().ok());
  while (planner.has_step()) result.steps.push_back(planner.take());
  result.summary = planner.summary();
  return result;
}

TEST(PlanStream, EverySampleRunsOnceWithinTheCapsWhateverTheWindows) {
  const std::vector<pack::StreamSample> samples = random_samples(700);
  for (const std::int64_t window : {1, 2, 7, 60, 10'000}) {
    for (const std::int64_t groups : {1, 5, 500}) {
      StreamOptions options = small_options();
      options.packing.window_samples = window;
      options.steps.window = groups;
      const StreamRun result = run(samples, options);
      std::map<std::int64_t, int> times;
      std::int64_t packs = 0;
      for (const StreamStep& step : result.steps) {
        ASSERT_EQ(step.packs.size(), 6U);
        for (const pack::StreamedPack& pack : step.packs) {
          packs += pack.samples.empty() ? 0 : 1;
          metrics::PackLoad load;
          for (const std::int64_t id : pack.samples) {
            const pack::StreamSample& sample = samples[static_cast<std::size_t>(id)];
            load.vision_units += sample.vision;
            load.tokens += sample.tokens;
            load.token_pairs += std::int64_t{sample.tokens} * sample.tokens;
            ++times[id];
          }
          ASSERT_EQ(pack.load, load);
          ASSERT_EQ(metrics::count_over_cap({&load, 1}, options.packing.limits.caps()), 0);
        }
      }
      for (const auto& [id, n] : times) ASSERT_EQ(n, 1) << id;
      ASSERT_EQ(times.size() + static_cast<std::size_t>(result.rejected), samples.size());
      EXPECT_EQ(result.summary["placed"], times.size());
      EXPECT_EQ(result.summary["packs"], packs);
      EXPECT_EQ(result.summary["steps"]["count"], result.steps.size());
      EXPECT_EQ(result.summary["over_cap"], 0);
    }
  }
}

TEST(PlanStream, AStreamWithinItsWindowsIsTheDataPlanOfACorpus) {
  const std::vector<pack::StreamSample> samples = random_samples(400);
  corpus::Corpus corpus;
  for (const pack::StreamSample& sample : samples) {
    corpus.vision.push_back(sample.vision);
    corpus.tokens.push_back(sample.tokens);
  }
  corpus.dummy_vision.resize(samples.size());
  corpus.supervised.resize(samples.size());
  corpus.source.resize(samples.size());
  corpus.sources.push_back({.name = "s", .path = "s", .hash = ""});
  StreamOptions options = small_options();
  options.packing.window_samples = 400;
  options.steps.window = 200;
  const StreamRun streamed = run(samples, options);
  const DataPlan data = *make_data_plan(
      corpus,
      {.limits = options.packing.limits, .seed = options.packing.seed, .steps = options.steps},
      kForward, {});
  ASSERT_EQ(static_cast<std::int64_t>(streamed.steps.size()), data.steps->num_steps);
  std::size_t entry = 0;
  for (const StreamStep& step : streamed.steps) {
    for (const pack::StreamedPack& pack : step.packs) {
      const std::int64_t id = data.steps->pack_ids[entry++];
      std::vector<std::int64_t> expected;
      if (id >= 0) {
        const auto members = data.grouping.packs.view()[id];
        expected.assign(members.begin(), members.end());
      }
      ASSERT_EQ(pack.samples, expected);
    }
  }
  const codec::Json keys = to_json(
      data, corpus,
      {.limits = options.packing.limits, .seed = options.packing.seed, .steps = options.steps});
  for (const char* key : {"packs", "placed", "rejected", "fill", "pad_ratio", "over_cap"}) {
    EXPECT_EQ(streamed.summary[key], keys[key]) << key;
  }
  for (const char* key : {"count", "zero_weight_packs"}) {
    EXPECT_EQ(streamed.summary["steps"][key], keys["steps"][key]) << key;
  }
  for (const char* key : {"vision", "tokens", "attention", "time"}) {
    EXPECT_NEAR(streamed.summary["steps"]["dist_ratio"][key].get<double>(),
                keys["steps"]["dist_ratio"][key].get<double>(), 1e-12)
        << key;
  }
}

TEST(PlanStream, RepeatedPacksAreCountedAsDuplicated) {
  StreamOptions options = small_options();
  options.steps.tail = steps::Tail::kRepeat;
  const StreamRun result = run(random_samples(613), options);
  std::map<std::int64_t, std::int64_t> times;
  for (const StreamStep& step : result.steps) {
    for (const pack::StreamedPack& pack : step.packs) {
      EXPECT_FALSE(pack.samples.empty());
      for (const std::int64_t id : pack.samples) ++times[id];
    }
  }
  std::int64_t duplicated = 0;
  for (const auto& [id, n] : times) duplicated += n - 1;
  EXPECT_GT(duplicated, 0);
  EXPECT_EQ(result.summary["duplicated"], duplicated);
}

/// Kills the stream after `samples` and `taken` of the steps there are then, and resumes it.
StreamRun interrupted(const std::vector<pack::StreamSample>& samples, const StreamOptions& options,
                      std::size_t given, std::int64_t taken, const std::string& directory) {
  StreamRun result;
  {
    StreamPlanner planner = *StreamPlanner::create(options);
    for (std::size_t i = 0; i < given; ++i) {
      EXPECT_TRUE(planner.push(samples[i]).ok());
      const bool last = i + 1 == given;
      for (std::int64_t k = 0; planner.has_step() && (!last || k < taken); ++k) {
        result.steps.push_back(planner.take());
      }
    }
    EXPECT_TRUE(save_stream(planner, {{"mark", given}}, directory).ok());
  }
  SavedStream saved = *load_stream(directory, options);
  EXPECT_EQ(saved.notes["mark"], given);
  EXPECT_EQ(saved.state.packing.samples, static_cast<std::int64_t>(given));
  StreamPlanner planner = *StreamPlanner::create(options, std::move(saved.state));
  for (std::size_t i = given;; ++i) {
    while (planner.has_step()) result.steps.push_back(planner.take());
    if (planner.finished()) break;
    if (i < samples.size()) {
      EXPECT_TRUE(planner.push(samples[i]).ok());
    } else {
      EXPECT_TRUE(planner.finish().ok());
    }
  }
  result.summary = planner.summary();
  return result;
}

TEST(PlanStream, ResumedAnywhereItGoesOnBitForBit) {
  const ScratchDirectory scratch;
  const std::vector<pack::StreamSample> samples = random_samples(260);
  for (const steps::Tail tail :
       {steps::Tail::kZeroWeight, steps::Tail::kDrop, steps::Tail::kRepeat}) {
    StreamOptions options = small_options();
    options.steps.tail = tail;
    options.steps.window = 3;
    const StreamRun expected = run(samples, options);
    for (std::size_t given = 0; given <= samples.size(); given += 13) {
      for (const std::int64_t taken : {0, 1, 100}) {
        const StreamRun resumed = interrupted(samples, options, given, taken, scratch / "state");
        ASSERT_TRUE(same(resumed.steps, expected.steps)) << given << " " << taken;
        // How many were held at once depends on when steps are taken; nothing else does.
        codec::Json summary = resumed.summary;
        summary["peak"] = expected.summary["peak"];
        ASSERT_EQ(summary, expected.summary);
      }
    }
  }
}

TEST(PlanStream, TwoSavesOfOneStateAreTheSameBytes) {
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

TEST(PlanStream, AnotherOptionIsRefusedByName) {
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
}

TEST(PlanStream, ADamagedStateIsRefused) {
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

TEST(PlanStream, WithoutAUsableSampleThereIsNothingToFinish) {
  StreamPlanner planner = *StreamPlanner::create(small_options());
  ASSERT_TRUE(planner.push({0, 1, 9000})->has_value());
  EXPECT_EQ(planner.finish().error().code, ErrorCode::kNothingUsable);
}

}  // namespace
}  // namespace omnibal::plan
