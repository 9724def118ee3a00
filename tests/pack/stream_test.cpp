// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/stream.h"

#include <gtest/gtest.h>

#include "omnibal/pack/isf.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

StreamPackOptions options_for(std::int64_t window) {
  return {.limits = PackLimits::with_paper_floors(9, 4096), .window_samples = window, .seed = 5};
}

TEST(PackStream, AStreamWithinOneWindowIsPackedAsACorpus) {
  PhiloxRng rng(75, RngStream::kTest);
  const TestSamples samples = random_samples(rng, 500, 5, 2000);
  const StreamPackOptions options = options_for(500);
  const auto admission = admit(samples.columns(), options.limits, {});
  ASSERT_TRUE(admission.ok());
  const Packs whole =
      pack_isf(samples.columns(), admission->accepted, options.limits, options.seed);
  StreamPacker packer = *StreamPacker::create(options);
  std::vector<StreamedPack> packs;
  for (std::uint32_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(packer.push({i, samples.vision[i], samples.tokens[i]}, packs).ok());
  }
  ASSERT_TRUE(packs.empty());
  packer.finish(packs);
  ASSERT_EQ(static_cast<std::int64_t>(packs.size()), whole.size());
  for (std::int64_t p = 0; p < whole.size(); ++p) {
    const auto members = whole.view()[p];
    const std::vector<std::int64_t> expected(members.begin(), members.end());
    EXPECT_EQ(packs[static_cast<std::size_t>(p)].samples, expected);
  }
}

TEST(PackStream, WhatIsNotFullMeetsWhatComesNext) {
  // Pairs fill a pack; in a window of three the odd one waits.
  StreamPacker packer = *StreamPacker::create(options_for(3));
  std::vector<StreamedPack> packs;
  for (std::int64_t id = 0; id < 8; ++id) ASSERT_TRUE(packer.push({id, 0, 2048}, packs).ok());
  packer.finish(packs);
  ASSERT_EQ(packs.size(), 4U);
  for (const StreamedPack& pack : packs) EXPECT_EQ(pack.load.tokens, 4096);
}

TEST(PackStream, AnOverLongSampleIsRejectedAtOnceOrEndsTheStream) {
  StreamPackOptions options = options_for(10);
  std::vector<StreamedPack> packs;
  StreamPacker packer = *StreamPacker::create(options);
  const auto rejection = packer.push({17, 1, 5000}, packs);
  ASSERT_TRUE(rejection.ok());
  ASSERT_TRUE(rejection->has_value());
  EXPECT_EQ((*rejection)->sample, 17);
  EXPECT_EQ((*rejection)->reason, "tokens");
  EXPECT_EQ((*rejection)->value, 5000);
  EXPECT_EQ((*rejection)->limit, 4096);
  EXPECT_EQ(packer.state().samples, 1);

  options.admission.over_long = OverLong::kError;
  StreamPacker strict = *StreamPacker::create(options);
  EXPECT_EQ(strict.push({3, 1, 5000}, packs).error().code, ErrorCode::kTokenCapExceeded);
  EXPECT_EQ(strict.push({3, 10, 500}, packs).error().code, ErrorCode::kVisionCapExceeded);
  EXPECT_EQ(strict.state(), StreamPackState());
  EXPECT_TRUE(strict.push({4, 1, 0}, packs)->has_value());
}

TEST(PackStream, OptionsThatPackNoStreamAreRefused) {
  for (const std::int64_t window : {std::int64_t{0}, std::int64_t{-1}, kLargestPackWindow + 1}) {
    const auto packer = StreamPacker::create(options_for(window));
    ASSERT_FALSE(packer.ok());
    EXPECT_EQ(packer.error().where.key, "window_samples");
  }
  StreamPackOptions padded = options_for(8);
  padded.method = Method::kSorted;
  EXPECT_EQ(StreamPacker::create(padded).error().where.key, "method");
  StreamPackOptions empty = options_for(8);
  empty.admission.allow_empty = true;
  EXPECT_EQ(StreamPacker::create(empty).error().where.key, "max_samples");
}

}  // namespace
}  // namespace omnibal::pack
