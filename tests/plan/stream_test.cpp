// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "codec/scratch_directory.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/stream_state.h"
#include "plan/made_stream.h"

namespace omnibal::plan {
namespace {

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

corpus::Corpus corpus_of(const std::vector<pack::StreamSample>& samples) {
  corpus::Corpus corpus;
  for (const pack::StreamSample& sample : samples) {
    corpus.vision.push_back(sample.vision);
    corpus.tokens.push_back(sample.tokens);
  }
  corpus.dummy_vision.resize(samples.size());
  corpus.supervised.resize(samples.size());
  corpus.source.resize(samples.size());
  corpus.sources.push_back({.name = "s", .path = "s", .hash = ""});
  return corpus;
}

void expect_same_steps(const StreamRun& streamed, const DataPlan& data) {
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
}

void expect_same_keys(const codec::Json& summary, const codec::Json& keys) {
  for (const char* key : {"packs", "placed", "rejected", "fill", "pad_ratio", "over_cap"}) {
    EXPECT_EQ(summary[key], keys[key]) << key;
  }
  for (const char* key : {"count", "zero_weight_packs"}) {
    EXPECT_EQ(summary["steps"][key], keys["steps"][key]) << key;
  }
  for (const char* key : {"vision", "tokens", "attention", "time"}) {
    EXPECT_NEAR(summary["steps"]["dist_ratio"][key].get<double>(),
                keys["steps"]["dist_ratio"][key].get<double>(), 1e-12)
        << key;
  }
}

TEST(PlanStream, AStreamWithinItsWindowsIsTheDataPlanOfACorpus) {
  const std::vector<pack::StreamSample> samples = random_samples(400);
  const corpus::Corpus corpus = corpus_of(samples);
  for (const std::string& packer : pack::packer_names()) {
    SCOPED_TRACE(packer);
    StreamOptions options = small_options();
    options.packing.method = *pack::parse_method(packer);
    options.packing.window_samples = 400;
    options.steps.window = 200;
    const StreamRun streamed = run(samples, options);
    const DataPlanOptions plan_options{.method = options.packing.method,
                                       .limits = options.packing.limits,
                                       .seed = options.packing.seed,
                                       .steps = options.steps};
    const DataPlan data = *make_data_plan(corpus, plan_options, kForward, {});
    expect_same_steps(streamed, data);
    expect_same_keys(streamed.summary, to_json(data, corpus, plan_options));
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
  constexpr std::array kTails = {steps::Tail::kZeroWeight, steps::Tail::kDrop,
                                 steps::Tail::kRepeat};
  constexpr std::array<std::int64_t, 3> kTaken = {0, 1, 100};
  for (std::size_t t = 0; t < kTails.size(); ++t) {
    StreamOptions options = small_options();
    options.steps.tail = kTails[t];
    options.steps.window = 3;
    const StreamRun expected = run(samples, options);
    for (std::size_t given = 0; given <= samples.size(); given += 13) {
      // Each save waits for the disk: not every number of steps with every tail.
      const std::int64_t taken = kTaken[(given / 13 + t) % kTaken.size()];
      const StreamRun resumed = interrupted(samples, options, given, taken, scratch / "state");
      ASSERT_TRUE(same(resumed.steps, expected.steps)) << given << " " << taken;
      // How many were held at once depends on when steps are taken; nothing else does.
      codec::Json summary = resumed.summary;
      summary["peak"] = expected.summary["peak"];
      ASSERT_EQ(summary, expected.summary);
    }
  }
}

TEST(PlanStream, WithoutAUsableSampleThereIsNothingToFinish) {
  StreamPlanner planner = *StreamPlanner::create(small_options());
  ASSERT_TRUE(planner.push({0, 1, 9000})->has_value());
  EXPECT_EQ(planner.finish().error().code, ErrorCode::kNothingUsable);
}

}  // namespace
}  // namespace omnibal::plan
