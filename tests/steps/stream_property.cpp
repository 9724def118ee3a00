// SPDX-License-Identifier: Apache-2.0
//
// What holds for every stream of packs, whatever its window.
#include "omnibal/steps/stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

using Loads = std::vector<metrics::PackLoad>;
using Ids = std::vector<std::int64_t>;

Loads random_loads(PhiloxRng& rng, std::uint32_t most) {
  Loads loads(1 + rng.below(most));
  const std::uint32_t classes = 1 + rng.below(20);
  for (metrics::PackLoad& load : loads) {
    load = {rng.below(classes), 1 + rng.below(4096), rng.below(1U << 24)};
  }
  return loads;
}

StepOptions stream_options(PhiloxRng& rng) {
  return {.dp = 1 + rng.below(6),
          .micro_batches = 1 + rng.below(4),
          .window = 1 + rng.below(12),
          .tail = static_cast<Tail>(rng.below(3)),
          .seed = rng.next_u64(),
          .forward = {.constant = 1e-3, .per_token = 1e-6}};
}

struct Streamed {
  Ids ids;  // [steps, micro_batches, dp]
  StreamStepState state;
};

Result<Streamed> stream(const Loads& loads, const StepOptions& options) {
  OMNIBAL_ASSIGN(StreamSteps steps, StreamSteps::create(options));
  Streamed result;
  const auto take_all = [&] {
    while (steps.has_step()) {
      const Ids step = steps.take();
      result.ids.insert(result.ids.end(), step.begin(), step.end());
    }
  };
  for (const metrics::PackLoad& load : loads) {
    steps.push({static_cast<std::int64_t>(&load - loads.data()), load});
    take_all();
  }
  OMNIBAL_RETURN_IF_ERROR(steps.finish());
  take_all();
  EXPECT_FALSE(steps.has_step());
  result.state = steps.state();
  return result;
}

TEST(StreamStepProperty, NoPackIsLostAndEveryRankHasTheSameCount) {
  PhiloxRng rng(81, RngStream::kTest);
  for (int trial = 0; trial < 1500; ++trial) {
    SCOPED_TRACE(trial);
    const Loads loads = random_loads(rng, 400);
    const StepOptions options = stream_options(rng);
    const auto result = stream(loads, options);
    const std::int64_t step = options.dp * options.micro_batches;
    if (!result.ok()) {
      ASSERT_EQ(options.tail, Tail::kDrop);
      ASSERT_LT(static_cast<std::int64_t>(loads.size()), step);
      continue;
    }
    const StreamStepState& state = result->state;
    ASSERT_EQ(static_cast<std::int64_t>(result->ids.size()), state.steps * step);
    Ids runs(loads.size());
    std::int64_t zero_weight = 0;
    for (const std::int64_t id : result->ids) {
      ASSERT_LT(id, static_cast<std::int64_t>(loads.size()));
      if (id == kZeroWeightPack) {
        ++zero_weight;
      } else {
        ++runs[static_cast<std::size_t>(id)];
      }
    }
    std::int64_t dropped = 0;
    std::int64_t repeated = 0;
    for (const std::int64_t n : runs) {
      dropped += n == 0 ? 1 : 0;
      repeated += std::max<std::int64_t>(n - 1, 0);
    }
    ASSERT_EQ(zero_weight, state.zero_weight_packs);
    ASSERT_EQ(dropped, state.dropped_packs);
    ASSERT_EQ(repeated, state.repeated_packs);
    ASSERT_LT(zero_weight, step + options.dp);  // two incomplete groups at most
    ASSERT_LT(std::max(dropped, repeated), step);
    ASSERT_EQ(zero_weight > 0, zero_weight > 0 && options.tail == Tail::kZeroWeight);
    ASSERT_EQ(dropped > 0, dropped > 0 && options.tail == Tail::kDrop);
    ASSERT_EQ(repeated > 0, repeated > 0 && options.tail == Tail::kRepeat);
  }
}

TEST(StreamStepProperty, AStateGoesOnAsIfItHadNotBeenSaved) {
  PhiloxRng rng(82, RngStream::kTest);
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE(trial);
    const Loads loads = random_loads(rng, 300);
    const StepOptions options = stream_options(rng);
    const auto expected = stream(loads, options);
    if (!expected.ok()) continue;
    Ids ids;
    StreamStepState state;
    const auto go_on = [&](const auto& work) {
      StreamSteps steps = *StreamSteps::create(options, state);
      ASSERT_EQ(steps.state(), state);
      work(steps);
      // One step at a time, so that some states have steps that were not taken.
      if (steps.has_step()) {
        const Ids step = steps.take();
        ids.insert(ids.end(), step.begin(), step.end());
      }
      state = steps.state();
    };
    for (std::size_t i = 0; i < loads.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(go_on([&](StreamSteps& steps) {
        steps.push({static_cast<std::int64_t>(i), loads[i]});
      }));
    }
    ASSERT_NO_FATAL_FAILURE(go_on([&](StreamSteps& steps) { ASSERT_TRUE(steps.finish().ok()); }));
    while (ids.size() < expected->ids.size()) {
      ASSERT_NO_FATAL_FAILURE(go_on([](StreamSteps&) {}));
    }
    ASSERT_EQ(ids, expected->ids);
    ASSERT_EQ(state, expected->state);
  }
}

TEST(StreamStepProperty, NoMoreThanAWindowWaitsAndNoPackWaitsForEver) {
  PhiloxRng rng(83, RngStream::kTest);
  for (int trial = 0; trial < 100; ++trial) {
    SCOPED_TRACE(trial);
    StepOptions options = stream_options(rng);
    options.window = 1 + rng.below(20);
    StreamSteps steps = *StreamSteps::create(options);
    const std::int64_t room = options.window * options.dp;
    for (std::int64_t id = 0; id < 10 * room + 500; ++id) {
      // Now and then a pack unlike all others.
      const bool rare = rng.below(40) == 0;
      const std::uint32_t tokens = rare ? 100 + rng.below(500) : 4000 + rng.below(96);
      steps.push({id, {rare ? 1 + rng.below(8) : 9U, tokens, tokens * tokens}});
      ASSERT_LE(static_cast<std::int64_t>(steps.state().with_vision.size()), room);
      ASSERT_TRUE(steps.state().idle.empty());
      for (const WaitingPack& waiting : steps.state().with_vision) {
        ASSERT_LT(waiting.groupings, kMostGroupings);
      }
      while (steps.has_step()) steps.take();
    }
  }
}

TEST(StreamStepProperty, PacksWithoutVisionUnitsMeetOthersInLastStepsOnly) {
  PhiloxRng rng(84, RngStream::kTest);
  for (int trial = 0; trial < 200; ++trial) {
    const Loads loads = random_loads(rng, 500);
    StepOptions options = stream_options(rng);
    options.tail = Tail::kZeroWeight;
    StreamSteps steps = *StreamSteps::create(options);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      steps.push({static_cast<std::int64_t>(i), loads[i]});
      while (steps.has_step()) {
        const Ids step = steps.take();
        for (std::size_t begin = 0; begin < step.size();
             begin += static_cast<std::size_t>(options.dp)) {
          const bool idle = loads[static_cast<std::size_t>(step[begin])].vision_units == 0;
          for (std::size_t k = begin; k < begin + static_cast<std::size_t>(options.dp); ++k) {
            ASSERT_EQ(loads[static_cast<std::size_t>(step[k])].vision_units == 0, idle);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace omnibal::steps
