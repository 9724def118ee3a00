// SPDX-License-Identifier: Apache-2.0
//
// What holds for every stream of samples, whatever its window.
#include "omnibal/pack/stream.h"

#include <gtest/gtest.h>

#include <map>

#include "omnibal/metrics/occupancy.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

StreamPackOptions random_options(PhiloxRng& rng) {
  StreamPackOptions options;
  options.limits = PackLimits::with_paper_floors(1 + rng.below(20), 1 + rng.below(5000));
  if (rng.below(2) == 0) options.limits.vision_floor = rng.below(25);
  if (rng.below(2) == 0) options.limits.token_floor = rng.below(6000);
  options.limits.rounds = 1 + rng.below(8);
  options.limits.max_samples = rng.below(2) == 0 ? 0 : 1 + rng.below(6);
  options.admission.allow_empty = options.limits.max_samples > 0 && rng.below(2) == 0;
  options.window_samples = 1 + rng.below(rng.below(2) == 0 ? 8 : 100);
  options.seed = rng.next_u64();
  return options;
}

/// All packs of a stream, and after which sample each left its window.
struct Streamed {
  std::vector<StreamedPack> packs;
  std::vector<std::int64_t> left_after;  // samples given then
  std::vector<StreamRejection> rejected;
  std::vector<std::int64_t> windows;  // packed when sample i had been given
};

Streamed stream(const TestSamples& samples, const StreamPackOptions& options) {
  Streamed result;
  auto packer = StreamPacker::create(options);
  EXPECT_TRUE(packer.ok());
  for (std::size_t i = 0; i < samples.tokens.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    const auto rejection = packer->push({id, samples.vision[i], samples.tokens[i]}, result.packs);
    EXPECT_TRUE(rejection.ok());
    if (*rejection) result.rejected.push_back(**rejection);
    EXPECT_LE(static_cast<std::int64_t>(packer->state().waiting.size()), options.window_samples);
    result.left_after.resize(result.packs.size(), id);
    result.windows.push_back(packer->state().windows);
  }
  packer->finish(result.packs);
  EXPECT_TRUE(packer->state().waiting.empty());
  return result;
}

TEST(StreamPackProperty, EverySampleIsInOnePackOrRejectedWithinTheCaps) {
  PhiloxRng rng(71, RngStream::kTest);
  for (int trial = 0; trial < 1500; ++trial) {
    SCOPED_TRACE(trial);
    const TestSamples samples =
        random_samples(rng, 1 + rng.below(300), 1 + rng.below(24), 1 + rng.below(6000));
    const StreamPackOptions options = random_options(rng);
    const Streamed result = stream(samples, options);
    std::vector<int> times(samples.tokens.size());
    for (const StreamedPack& pack : result.packs) {
      metrics::PackLoad load;
      for (const std::int64_t id : pack.samples) {
        const auto i = static_cast<std::size_t>(id);
        ++times[i];
        const std::int64_t tokens = samples.tokens[i];
        load.vision_units += samples.vision[i];
        load.tokens += tokens;
        load.token_pairs += tokens * tokens;
      }
      ASSERT_FALSE(pack.samples.empty());
      ASSERT_EQ(pack.load, load);
      ASSERT_EQ(metrics::count_over_cap({&load, 1}, options.limits.caps()), 0);
      if (options.limits.max_samples > 0) {
        ASSERT_LE(pack.samples.size(), static_cast<std::size_t>(options.limits.max_samples));
      }
    }
    const auto admission = admit(samples.columns(), options.limits, options.admission);
    std::size_t rejected = 0;
    for (std::size_t i = 0; i < times.size(); ++i) rejected += times[i] == 0 ? 1 : 0;
    ASSERT_EQ(rejected, result.rejected.size());
    for (const int n : times) ASSERT_LE(n, 1);
    if (!admission.ok()) continue;
    ASSERT_EQ(admission->rejected.size(), rejected);
    for (std::size_t k = 0; k < rejected; ++k) {
      ASSERT_EQ(admission->rejected[k].sample, result.rejected[k].sample);
      ASSERT_EQ(admission->rejected[k].reason, result.rejected[k].reason);
      ASSERT_EQ(admission->rejected[k].value, result.rejected[k].value);
      ASSERT_EQ(admission->rejected[k].limit, result.rejected[k].limit);
    }
  }
}

TEST(StreamPackProperty, NoSampleWaitsForMoreThanItsShareOfWindows) {
  PhiloxRng rng(72, RngStream::kTest);
  for (int trial = 0; trial < 300; ++trial) {
    const TestSamples samples = random_samples(rng, 400, 1 + rng.below(20), 1 + rng.below(5000));
    const StreamPackOptions options = random_options(rng);
    const Streamed result = stream(samples, options);
    for (std::size_t p = 0; p < result.left_after.size(); ++p) {
      const std::int64_t then = result.windows[static_cast<std::size_t>(result.left_after[p])];
      for (const std::int64_t id : result.packs[p].samples) {
        ASSERT_LE(then - result.windows[static_cast<std::size_t>(id)], kMostPackWindows);
      }
    }
  }
}

TEST(StreamPackProperty, HalfOfAFullWindowLeaves) {
  PhiloxRng rng(73, RngStream::kTest);
  for (int trial = 0; trial < 300; ++trial) {
    StreamPackOptions options = random_options(rng);
    // No pack reaches such a floor: those that leave are the fullest.
    options.limits.vision_floor = options.limits.token_floor = 1 << 30;
    options.limits.max_samples = 0;
    options.admission.allow_empty = false;
    auto packer = StreamPacker::create(options);
    ASSERT_TRUE(packer.ok());
    std::vector<StreamedPack> packs;
    for (std::int64_t id = 0; id < 500; ++id) {
      const auto held = static_cast<std::int64_t>(packer->state().waiting.size());
      const std::int64_t windows = packer->state().windows;
      const auto tokens = 1 + rng.below(static_cast<std::uint32_t>(options.limits.token_cap));
      ASSERT_TRUE(packer->push({id, 0, tokens}, packs).ok());
      if (packer->state().windows == windows) continue;
      ASSERT_EQ(held, options.window_samples);
      ASSERT_LE(2 * (static_cast<std::int64_t>(packer->state().waiting.size()) - 1), held);
    }
  }
}

TEST(StreamPackProperty, AStateGoesOnAsIfItHadNotBeenSaved) {
  PhiloxRng rng(74, RngStream::kTest);
  for (int trial = 0; trial < 200; ++trial) {
    const TestSamples samples = random_samples(rng, 200, 12, 5000);
    const StreamPackOptions options = random_options(rng);
    const std::vector<StreamedPack> expected = stream(samples, options).packs;
    std::vector<StreamedPack> packs;
    StreamPackState state;
    for (std::size_t i = 0; i < samples.tokens.size(); ++i) {
      auto packer = StreamPacker::create(options, state);
      ASSERT_TRUE(packer.ok());
      const auto id = static_cast<std::int64_t>(i);
      ASSERT_TRUE(packer->push({id, samples.vision[i], samples.tokens[i]}, packs).ok());
      state = packer->state();
    }
    StreamPacker::create(options, state)->finish(packs);
    ASSERT_EQ(packs, expected) << "trial " << trial;
  }
}

}  // namespace
}  // namespace omnibal::pack
