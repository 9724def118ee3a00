// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/data/pack_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "omnibal/runtime/data/prefetcher.h"
#include "omnibal/runtime/image/decode.h"
#include "omnibal/steps/step_table.h"
#include "runtime/data/small_data.h"

namespace omnibal::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr std::int64_t kNo = kUnsupervised;

PackOptions with_images() {
  ImageProcessor processor;
  processor.tiling = {.tile_size = 8, .min_tiles = 1, .max_tiles = 4};
  return {.images = processor};
}

PackSource open(const SmallData& small, PackOptions options = {}) {
  auto source = PackSource::open(small.data(), small.plan(), std::move(options));
  EXPECT_TRUE(source.ok()) << to_text(source.error());
  return *std::move(source);
}

/// The tokens, labels, weights of one sample as its pack has them.
struct Segment {
  std::vector<std::int64_t> ids, positions, labels;
  std::vector<double> weights;
};

Segment segment_of(const PackArrays& pack, std::size_t index) {
  const auto cut = [&](const auto& all) {
    return std::vector(all.begin() + pack.segment_offsets[index],
                       all.begin() + pack.segment_offsets[index + 1]);
  };
  return {cut(pack.ids), cut(pack.positions), cut(pack.labels), cut(pack.weights)};
}

/// Wherever a plan has put them: by corpus index.
std::vector<Segment> all_samples(const PackSource& source) {
  std::vector<Segment> samples(source.plan().sample_tokens().size());
  for (std::int64_t p = 0; p < source.num_packs(); ++p) {
    const auto pack = source.load(p);
    EXPECT_TRUE(pack.ok()) << to_text(pack.error());
    EXPECT_EQ(pack->segment_offsets.back(), pack->num_tokens());
    EXPECT_EQ(pack->segment_offsets.size(), pack->samples.size() + 1);
    for (std::size_t i = 0; i < pack->samples.size(); ++i) {
      samples[static_cast<std::size_t>(pack->samples[i])] = segment_of(*pack, i);
    }
  }
  return samples;
}

TEST(PackSource, ShiftsLabelsInsideOfEachSample) {
  SmallData small;
  small.write_plan(100);
  const PackSource source = open(small);
  EXPECT_EQ(source.num_packs(), 1);
  const auto samples = all_samples(source);
  EXPECT_THAT(samples[0].ids, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(samples[0].positions, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(samples[0].labels, ElementsAre(kNo, 3, 4, 5, kNo));
  EXPECT_THAT(samples[1].labels, ElementsAre(kNo, kNo, kNo, kNo, kNo, kNo, 2, 3, kNo));
  EXPECT_THAT(samples[2].labels, Each(kNo));
  EXPECT_EQ(samples[4].ids, samples[0].ids);
}

TEST(PackSource, HowSamplesArePackedChangesNothing) {
  SmallData together, apart;
  together.write_plan(100);
  apart.write_plan(9);
  const PackSource one = open(together), many = open(apart);
  EXPECT_GT(many.num_packs(), 2);
  const auto a = all_samples(one), b = all_samples(many);
  for (std::size_t s = 0; s < a.size(); ++s) {
    EXPECT_EQ(a[s].ids, b[s].ids);
    EXPECT_EQ(a[s].positions, b[s].positions);
    EXPECT_EQ(a[s].labels, b[s].labels);
    EXPECT_EQ(a[s].weights, b[s].weights);
  }
}

TEST(PackSource, WeighsTokensByMode) {
  SmallData small;
  small.write_plan(100);
  const std::vector<std::pair<LossMode, double>> cases = {
      {LossMode::kToken, 1.0},
      {LossMode::kSample, 1.0 / 3},
      {LossMode::kSquareRoot, 1 / std::sqrt(3)}};
  for (const auto& [mode, weight] : cases) {
    const PackSource source = open(small, {.loss = mode});
    EXPECT_THAT(all_samples(source)[0].weights, ElementsAre(0, weight, weight, weight, 0));
    const auto pack = source.load(0);
    EXPECT_EQ(pack->num_supervised, 3 + 2 + 0 + 2 + 3);
    double sum = 0;
    for (const double w : pack->weights) sum += w;
    EXPECT_NEAR(pack->weight_sum, sum, 1e-12);
  }
  EXPECT_NEAR(open(small, {.loss = LossMode::kSample}).load(0)->weight_sum, 4, 1e-12);
}

TEST(PackSource, TilesOfPicturesFollowTheirSamplesAndBlankOnesAreCountedAlone) {
  SmallData small;
  small.write_plan(100);
  const auto pack = open(small, with_images()).load(0);
  ASSERT_TRUE(pack.ok()) << to_text(pack.error());
  EXPECT_EQ(pack->num_tiles, 3 + 2);
  EXPECT_EQ(pack->num_blank_tiles, 1);
  std::vector<float> expected;
  for (const std::int64_t sample : pack->samples) {
    const std::vector<int> pictures = sample == 1   ? std::vector<int>{0}
                                      : sample == 3 ? std::vector<int>{1, 2}
                                                    : std::vector<int>{};
    for (const int picture : pictures) {
      const TileGrid grid = sample == 1 ? TileGrid{2, 1} : TileGrid{1, 1};
      const PixelValues fed =
          preprocess(*load_image(small.picture(picture), {}), *with_images().images, grid);
      expected.insert(expected.end(), fed.values.begin(), fed.values.end());
    }
  }
  EXPECT_THAT(pack->pixels, ElementsAreArray(expected));
  EXPECT_TRUE(open(small).load(0)->pixels.empty());
}

TEST(PackSource, AZeroWeightPackIsEmpty) {
  SmallData small;
  small.write_plan(100);
  const auto pack = open(small, with_images()).load(steps::kZeroWeightPack);
  ASSERT_TRUE(pack.ok());
  EXPECT_EQ(pack->num_tokens(), 0);
  EXPECT_THAT(pack->segment_offsets, ElementsAre(0));
  EXPECT_EQ(pack->weight_sum, 0);
}

TEST(PackSource, CutsWhatThePlanCuts) {
  SmallData small;
  small.write_plan(8, pack::OverLong::kTruncate);
  const PackSource source = open(small);
  const auto samples = all_samples(source);
  EXPECT_THAT(samples[1].ids, ElementsAre(1, 9, 9, 9, 9, 9, 9, 2));
  EXPECT_THAT(samples[1].labels, ElementsAre(kNo, kNo, kNo, kNo, kNo, kNo, 2, kNo));
}

TEST(PackSource, AnUnreadablePictureNamesSampleRowAndFile) {
  SmallData small;
  small.write_plan(100);
  const PackSource source = open(small, with_images());
  std::filesystem::resize_file(small.picture(2), 60);
  const auto pack = source.load(0);
  ASSERT_FALSE(pack.ok());
  EXPECT_THAT(pack.error().message, HasSubstr("sample 3 (row 3 of \"made\")"));
  EXPECT_EQ(pack.error().where.file, small.picture(2));
  EXPECT_EQ(pack.error().where.row, 3);
  std::filesystem::remove(small.picture(2));
  EXPECT_EQ(source.load(0).error().code, ErrorCode::kFileNotFound);
}

TEST(PackSource, RefusesAPlanOfOtherSamplesAndAModelOfOtherTiles) {
  SmallData small;
  small.write_plan(100);
  PackOptions options = with_images();
  options.images->tiling.tile_size = 16;
  EXPECT_EQ(PackSource::open(small.data(), small.plan(), options).error().code,
            ErrorCode::kOutOfRange);
  small.write_array<std::uint32_t>("row", {0, 1, 2, 7, 0});
  const auto stale = PackSource::open(small.data(), small.plan(), {});
  EXPECT_EQ(stale.error().code, ErrorCode::kStalePlan);
  EXPECT_THAT(stale.error().message, HasSubstr("sample 3"));
}

TEST(PreparedData, RefusesArraysThatContradictEachOther) {
  const auto error_with = [](auto&& change) {
    SmallData small;
    change(small);
    const auto data = PreparedData::open(small.data());
    return data.ok() ? std::string("none") : data.error().where.file;
  };
  EXPECT_EQ(error_with([](const SmallData&) {}), "none");
  EXPECT_THAT(error_with([](const SmallData& s) {
                s.write_array<std::int64_t>("token_offsets", {0, 5, 4, 16, 24});
              }),
              HasSubstr("token_offsets.npy"));
  EXPECT_THAT(error_with([](const SmallData& s) {
                s.write_array<std::int64_t>("image_offsets", {0, 0, 1, 1, 4});
              }),
              HasSubstr("image_offsets.npy"));
  EXPECT_THAT(error_with([](const SmallData& s) {
                s.write_array<std::uint32_t>("prepared_row", {0, 1, 2, 4, 0});
              }),
              HasSubstr("prepared_row.npy"));
  EXPECT_THAT(error_with([](const SmallData& s) {
                s.write_array<std::int32_t>("image_grids", {2, 0, 1, 1, 1, 1}, {3, 2});
              }),
              HasSubstr("image_grids.npy"));
  EXPECT_THAT(
      error_with([](const SmallData& s) { s.write_array<std::uint8_t>("token_supervised", {1}); }),
      HasSubstr("token_supervised.npy"));
}

TEST(Prefetcher, GivesPacksInTheOrderAskedForAndErrorsInTheirPlace) {
  SmallData small;
  small.write_plan(9);
  const PackSource source = open(small, with_images());
  std::filesystem::remove(small.picture(0));
  Prefetcher prefetcher(source, 2);
  std::vector<std::int64_t> asked;
  for (int round = 0; round < 5; ++round) {
    for (std::int64_t p = source.num_packs() - 1; p >= steps::kZeroWeightPack; --p) {
      asked.push_back(p);
      prefetcher.request(p);
    }
  }
  int num_errors = 0;
  for (const std::int64_t pack : asked) {
    const auto expected = source.load(pack);
    const auto found = prefetcher.next();
    ASSERT_EQ(found.ok(), expected.ok());
    if (!found.ok()) {
      ++num_errors;
      EXPECT_EQ(found.error().message, expected.error().message);
      continue;
    }
    EXPECT_EQ(found->pack, pack);
    EXPECT_EQ(found->ids, expected->ids);
    EXPECT_EQ(found->pixels, expected->pixels);
  }
  EXPECT_EQ(num_errors, 5);
  EXPECT_EQ(prefetcher.num_pending(), 0);
}

TEST(Prefetcher, EndsWithPacksThatNobodyTakes) {
  SmallData small;
  small.write_plan(9);
  const PackSource source = open(small, with_images());
  Prefetcher prefetcher(source, 1);
  for (int i = 0; i < 10; ++i) prefetcher.request(0);
  EXPECT_TRUE(prefetcher.next().ok());
}

}  // namespace
}  // namespace omnibal::runtime
