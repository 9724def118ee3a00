// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "omnibal/pack/method.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kNumSamples = 64;

/// 64 samples whose lengths are a scrambled 0 .. 63 (times 32).
TestSamples scrambled() {
  TestSamples samples;
  for (std::uint32_t i = 0; i < kNumSamples; ++i) samples.add(1, 32 * (i * 37 % kNumSamples));
  return samples;
}

std::vector<std::uint32_t> ids(std::uint32_t n) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<std::uint32_t> ranks_samples(const MicroBatches& batches, std::int64_t rank) {
  std::vector<std::uint32_t> samples;
  for (std::size_t i = static_cast<std::size_t>(rank); i < batches.grid.size();
       i += static_cast<std::size_t>(batches.dp)) {
    const auto members = batches.groups.view()[batches.grid[i]];
    samples.insert(samples.end(), members.begin(), members.end());
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

TEST(BaselineRandom, EachRankShufflesItsOwnContiguousBlock) {
  const TestSamples samples = scrambled();
  const auto batches =
      random_micro_batches(samples.columns(), ids(kNumSamples), {.size = 4, .dp = 2});
  EXPECT_THAT(batches.grid, SizeIs(16));
  std::vector<std::uint32_t> second_half(32);
  std::iota(second_half.begin(), second_half.end(), 32U);
  EXPECT_EQ(ranks_samples(batches, 0), ids(32));
  EXPECT_EQ(ranks_samples(batches, 1), second_half);
  EXPECT_NE(batches.groups.samples, ids(kNumSamples));
}

TEST(BaselineSorted, MicroBatchesHoldNeighboursByLength) {
  const TestSamples samples = scrambled();
  const auto batches =
      sorted_micro_batches(samples.columns(), ids(kNumSamples), {.size = 4, .dp = 2});
  for (std::int64_t g = 0; g < batches.groups.size(); ++g) {
    const auto members = batches.groups.view()[g];
    EXPECT_EQ(samples.tokens[members.front()], static_cast<std::uint32_t>(32 * 4 * g));
    EXPECT_EQ(samples.tokens[members.back()], static_cast<std::uint32_t>(32 * (4 * g + 3)));
  }
  EXPECT_FALSE(std::is_sorted(batches.grid.begin(), batches.grid.end()));
}

TEST(BaselineSorted, LengthsOfOneBucketKeepCorpusOrder) {
  TestSamples samples;
  for (const std::uint32_t tokens : {31U, 5U, 32U, 0U}) samples.add(1, tokens);
  const auto batches = sorted_micro_batches(samples.columns(), ids(4), {.size = 4, .dp = 1});
  EXPECT_THAT(batches.groups.samples, ElementsAre(0, 1, 3, 2));
}

TEST(BaselineLengthGrouped, SortsEachMegabatchOfFiftyMicroBatches) {
  PhiloxRng rng(3, RngStream::kTest);
  const TestSamples samples = random_samples(rng, 250, 3, 4000);
  const auto batches =
      length_grouped_micro_batches(samples.columns(), ids(250), {.size = 2, .dp = 2});
  const auto& order = batches.groups.samples;
  const auto descending = [&samples](std::uint32_t a, std::uint32_t b) {
    return samples.tokens[a] > samples.tokens[b];
  };
  for (const auto& [begin, end] : {std::pair{0, 100}, {100, 200}, {200, 250}}) {
    EXPECT_TRUE(std::is_sorted(order.begin() + begin, order.begin() + end, descending)) << begin;
  }
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end(), descending));
}

TEST(BaselineDeviceGroup, DealsSortedGroupsSampleBySample) {
  TestSamples samples;
  for (const std::uint32_t tokens : {10U, 20U, 30U, 40U}) samples.add(1, tokens);
  const auto batches = device_group_micro_batches(samples.columns(), ids(4), {.size = 2, .dp = 2});
  // Sorted 40, 30, 20, 10: rank 0 gets the first and third, rank 1 the second and fourth.
  EXPECT_THAT(batches.grid, ElementsAre(0, 1));
  EXPECT_THAT(batches.groups.samples, ElementsAre(3, 1, 2, 0));
}

TEST(Baselines, IncompleteMicroBatchesStayOutOfTheGrid) {
  const TestSamples samples = scrambled();
  for (const Method method :
       {Method::kRandom, Method::kSorted, Method::kLengthGrouped, Method::kDeviceGroup}) {
    const Grouping few =
        group_samples(method, samples.columns(), ids(7), {.micro_batches = {.size = 4, .dp = 2}});
    EXPECT_THAT(few.grid, IsEmpty()) << to_string(method);
    EXPECT_EQ(placement_fault(few.packs.view(), ids(7)), "") << to_string(method);
  }
}

TEST(Baselines, DependOnTheSeed) {
  const TestSamples samples = scrambled();
  for (const Method method :
       {Method::kRandom, Method::kSorted, Method::kLengthGrouped, Method::kDeviceGroup}) {
    const auto grouped = [&](std::uint64_t seed) {
      const Grouping g = group_samples(method, samples.columns(), ids(kNumSamples),
                                       {.micro_batches = {.size = 1, .dp = 2}, .seed = seed});
      return std::pair(g.packs.samples, g.grid);
    };
    EXPECT_EQ(grouped(1), grouped(1)) << to_string(method);
    EXPECT_NE(grouped(1), grouped(2)) << to_string(method);
  }
}

TEST(Method, NamesAreReadBack) {
  EXPECT_THAT(method_names(), ElementsAre("isf", "best-fit", "first-fit", "patterns", "auto",
                                          "random", "sorted", "length-grouped", "device-group"));
  for (const std::string& name : method_names()) {
    const auto method = parse_method(name);
    ASSERT_TRUE(method.ok());
    EXPECT_EQ(to_string(*method), name);
  }
  const auto unknown = parse_method("magic");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(unknown.error().hint, HasSubstr("isf, best-fit, first-fit"));
}

TEST(Method, OnlyBaselinesPad) {
  TestSamples samples;
  samples.add(1, 100);
  samples.add(1, 300);
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  const Grouping packed =
      group_samples(Method::kIsf, samples.columns(), ids(2), {.limits = limits});
  const std::vector<metrics::PackLoad> loads = packed.loads(samples.columns());
  EXPECT_EQ(loads[0].tokens, 400);
  EXPECT_EQ(packed.pad_ratio(samples.columns(), loads, 1), 0);
  EXPECT_DOUBLE_EQ(packed.pad_ratio(samples.columns(), loads, 256), 112.0 / 512.0);
  const Grouping padded = group_samples(Method::kRandom, samples.columns(), ids(2),
                                        {.micro_batches = {.size = 2, .dp = 1}});
  EXPECT_FALSE(respects_caps(Method::kRandom));
  EXPECT_TRUE(respects_caps(Method::kAuto));
  const std::vector<metrics::PackLoad> padded_loads = padded.loads(samples.columns());
  EXPECT_EQ(padded_loads[0].tokens, 600);
  EXPECT_DOUBLE_EQ(padded.pad_ratio(samples.columns(), padded_loads, 1), 200.0 / 600.0);
}

}  // namespace
}  // namespace omnibal::pack
