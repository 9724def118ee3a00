// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnibal::metrics {
namespace {

using ::testing::ElementsAre;

const std::vector<std::uint32_t> kVision = {1, 3, 0, 5};
const std::vector<std::uint32_t> kTokens = {10, 20, 30, 40};
const std::vector<std::int64_t> kOffsets = {0, 2, 3};
const std::vector<std::uint32_t> kMembers = {3, 1, 2};
const GroupView kGroups{kOffsets, kMembers};
const SampleColumns kSamples{kVision, kTokens};

TEST(Loads, PackedLoadsAreSumsOverSegments) {
  EXPECT_THAT(packed_loads(kGroups, kSamples),
              ElementsAre(PackLoad{8, 60, 40 * 40 + 20 * 20}, PackLoad{0, 30, 900}));
}

TEST(Loads, PaddedLoadsCountEverySampleAsTheLongest) {
  EXPECT_THAT(padded_loads(kGroups, kSamples),
              ElementsAre(PackLoad{8, 80, 2 * 40 * 40}, PackLoad{0, 30, 900}));
}

TEST(Loads, PairsOfLongSamplesDoNotOverflow) {
  const std::vector<std::uint32_t> vision = {0, 0};
  const std::vector<std::uint32_t> tokens = {1U << 24, 1U << 24};
  const std::vector<std::int64_t> offsets = {0, 2};
  const std::vector<std::uint32_t> members = {0, 1};
  EXPECT_EQ(packed_loads({offsets, members}, {vision, tokens})[0].token_pairs,
            std::int64_t{1} << 49);
}

TEST(Loads, TwoKindsOfPacksWithEqualTokensDifferInAttention) {
  std::vector<std::uint32_t> tokens(65, 64);
  tokens[0] = 4096;
  const std::vector<std::uint32_t> vision(65, 0);
  std::vector<std::uint32_t> members(65);
  for (std::uint32_t i = 0; i < 65; ++i) members[i] = i;
  const std::vector<std::int64_t> offsets = {0, 1, 65};
  const auto loads = packed_loads({offsets, members}, {vision, tokens});
  EXPECT_EQ(loads[0].tokens, loads[1].tokens);
  EXPECT_EQ(loads[0].token_pairs, 64 * loads[1].token_pairs);
}

TEST(ToLoad, KeepsTheThreeNumbers) {
  const cost::Load load = to_load({.vision_units = 9, .tokens = 4096, .token_pairs = 5'000'000});
  EXPECT_EQ(load.vision_units, 9);
  EXPECT_EQ(load.tokens, 4096);
  EXPECT_EQ(load.token_pairs, 5e6);
}

}  // namespace
}  // namespace omnibal::metrics
