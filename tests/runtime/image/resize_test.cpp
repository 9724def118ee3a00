// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace omnibal::runtime {
namespace {

/// Something with edges, the same on every machine.
Image pattern(int width, int height) {
  Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i * i * 7 + i * 31);
  }
  return image;
}

std::vector<int> channel(const Image& image, std::size_t index) {
  std::vector<int> values;
  for (std::size_t i = index; i < image.pixels.size(); i += kChannels) {
    values.push_back(image.pixels[i]);
  }
  return values;
}

TEST(RuntimeResize, TheSameSizeIsTheSamePicture) {
  const Image image = pattern(13, 7);
  EXPECT_EQ(resize_bicubic(image, 13, 7).pixels, image.pixels);
}

TEST(RuntimeResize, OneColourStays) {
  Image image(50, 31);
  std::ranges::fill(image.pixels, std::uint8_t{137});
  for (const auto& [width, height] : {std::pair{7, 5}, {448, 448}, {1, 1}, {51, 3}}) {
    const Image resized = resize_bicubic(image, width, height);
    EXPECT_EQ(std::ranges::count(resized.pixels, 137), std::ssize(resized.pixels));
  }
}

TEST(RuntimeResize, MatchesPillowOnSmallPictures) {
  EXPECT_THAT(channel(resize_bicubic(pattern(5, 4), 3, 2), 0),
              testing::ElementsAre(103, 148, 93, 168, 137, 107));
  EXPECT_THAT(
      channel(resize_bicubic(pattern(2, 2), 5, 3), 1),
      testing::ElementsAre(17, 50, 136, 223, 255, 24, 56, 141, 226, 255, 30, 62, 146, 229, 255));
}

TEST(RuntimeResize, TheOrderOfPassesIsPillows) {
  const Image image = pattern(40, 90);  // loses more rows than columns: Pillow 13 begins with rows
  const Image now = resize_bicubic(image, 30, 20);
  const Image before = resize_bicubic(image, 30, 20, PassOrder::kHorizontalFirst);
  EXPECT_NE(now.pixels, before.pixels);
  const Image rows_first =
      resize_bicubic(resize_bicubic(image, 40, 20), 30, 20, PassOrder::kHorizontalFirst);
  EXPECT_EQ(now.pixels, rows_first.pixels);
}

}  // namespace
}  // namespace omnibal::runtime
