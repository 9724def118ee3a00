// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "codec/scratch_directory.h"
#include "runtime/image/sample_images.h"

namespace omnibal::runtime {
namespace {

using testing::ElementsAre;
using Pixels = std::vector<std::uint8_t>;

Result<Image> decode(std::string_view file, std::int64_t max_pixels = 1 << 20) {
  return decode_image(bytes_of(file), "a.png", {.max_pixels = max_pixels});
}

Pixels pixels_of(const PngSpec& spec, std::string_view samples) {
  const Result<Image> image = decode(png_file(spec, samples));
  EXPECT_TRUE(image.ok()) << (image.ok() ? "" : image.error().message);
  return image.ok() ? image->pixels : Pixels{};
}

TEST(RuntimeDecode, EveryKindOfPngBecomesRgb) {
  EXPECT_THAT(pixels_of({.color_type = 2}, "\x01\x02\x03"), ElementsAre(1, 2, 3));
  EXPECT_THAT(pixels_of({.color_type = 0}, "\x07"), ElementsAre(7, 7, 7));
  EXPECT_THAT(pixels_of({.width = 4, .bit_depth = 2, .color_type = 0}, "\x1b"),
              ElementsAre(0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255));
  EXPECT_THAT(pixels_of({.bit_depth = 16, .color_type = 2}, raw("\x01\xff\x02\0\x03\x80")),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(pixels_of({.width = 2, .color_type = 3, .palette = "abcdef"}, raw("\1\0")),
              ElementsAre('d', 'e', 'f', 'a', 'b', 'c'));
}

TEST(RuntimeDecode, AlphaIsBlendedOnWhite) {
  EXPECT_THAT(pixels_of({.color_type = 6}, raw("\x10\x20\x30\0")), ElementsAre(255, 255, 255));
  EXPECT_THAT(pixels_of({.color_type = 6}, raw("\0\xff\0\x80")), ElementsAre(127, 255, 127));
  EXPECT_THAT(pixels_of({.color_type = 4}, raw("\0\x40")), ElementsAre(191, 191, 191));
  EXPECT_THAT(pixels_of({.color_type = 3, .palette = "abc", .transparent = raw("\0")}, raw("\0")),
              ElementsAre(255, 255, 255));
  EXPECT_THAT(
      pixels_of({.width = 2, .color_type = 2, .transparent = raw("\0\1\0\2\0\3")}, "\1\2\3\1\2\4"),
      ElementsAre(255, 255, 255, 1, 2, 4));
}

TEST(RuntimeDecode, WideGreyIsClippedAsPillowClipsIt) {
  EXPECT_THAT(pixels_of({.width = 2, .bit_depth = 16, .color_type = 0}, raw("\0\x64\x01\0")),
              ElementsAre(100, 100, 100, 255, 255, 255));
}

TEST(RuntimeDecode, ExifTurnsThePicture) {
  const std::string samples = "aaabbb";  // a left, b right
  const PngSpec spec{.width = 2, .exif = exif_of(6)};
  const Result<Image> turned = decode(png_file(spec, samples));
  ASSERT_TRUE(turned.ok());
  EXPECT_EQ(turned->width, 1);
  EXPECT_EQ(turned->height, 2);
  EXPECT_EQ(turned->row(0)[0], 'a');  // a quarter turn clockwise: left becomes top
  const Result<Image> mirrored = decode(png_file({.width = 2, .exif = exif_of(2)}, samples));
  EXPECT_EQ(mirrored->row(0)[0], 'b');
}

TEST(RuntimeDecode, TheLimitOfPixelsIsCheckedOnTheHeader) {
  const Result<Image> huge = decode(png_header(0x7fffffff, 0x7fffffff));
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ErrorCode::kImageTooLarge);
  EXPECT_EQ(std::get<std::int64_t>(huge.error().value), 0x7fffffffLL * 0x7fffffffLL);
  EXPECT_EQ(std::get<std::int64_t>(huge.error().limit), 1 << 20);
  EXPECT_EQ(decode(jpeg_file(30, 20), 599).error().code, ErrorCode::kImageTooLarge);
  EXPECT_TRUE(decode(jpeg_file(30, 20), 600).ok());
}

TEST(RuntimeDecode, AHeaderWithoutPixelsIsRefusedBeforeMemoryIsTaken) {
  const Result<Image> empty = decode(png_header(40'000'000, 1000), std::int64_t{1} << 40);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::kMalformedImage);
}

TEST(RuntimeDecode, AFileCutAnywhereIsAnErrorNeverGreyRows) {
  const std::string png = png_file({.width = 8, .height = 8}, std::string(192, 'x'));
  const std::size_t png_pixels_end = png.size() - 12;  // the end chunk holds nothing
  for (std::size_t size = 1; size < png_pixels_end; ++size) {
    EXPECT_FALSE(decode(png.substr(0, size)).ok()) << size;
  }
  const std::string jpeg = jpeg_file(64, 64);
  ASSERT_TRUE(decode(jpeg).ok());
  for (std::size_t size = 1; size < jpeg.size(); ++size) {
    EXPECT_FALSE(decode(jpeg.substr(0, size)).ok()) << size;
  }
}

TEST(RuntimeDecode, TransparencyWithABrokenChecksumDoesNotVanish) {
  std::string file =
      png_file({.color_type = 3, .palette = "abc", .transparent = raw("\0")}, raw("\0"));
  ASSERT_TRUE(decode(file).ok());
  const std::size_t checksum = file.find("tRNS") + 5;
  file[checksum] = static_cast<char>(file[checksum] ^ 1);
  EXPECT_EQ(decode(file).error().code, ErrorCode::kMalformedImage);
}

TEST(RuntimeDecode, DamagedBytesNeverCrash) {
  const std::string files[] = {png_file({.width = 8, .height = 8}, std::string(192, 'x')),
                               jpeg_file(16, 16, 6)};
  for (const std::string& file : files) {
    for (std::size_t at = 0; at < file.size(); ++at) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      if (const Result<Image> image = decode(damaged)) {
        EXPECT_EQ(image->pixels.size(), static_cast<std::size_t>(image->width * image->height * 3));
      }
    }
  }
}

TEST(RuntimeDecode, OnlyRegularFilesAreLoaded) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("图 片.jpeg", png_file({}, "abc"));
  EXPECT_TRUE(load_image(path, {}).ok());
  EXPECT_EQ(load_image(scratch / "missing.png", {}).error().code, ErrorCode::kFileNotFound);
  EXPECT_EQ(load_image(scratch.path(), {}).error().code, ErrorCode::kFileUnreadable);
  const std::string pipe = scratch / "pipe.png";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(load_image(pipe, {}).error().code, ErrorCode::kFileUnreadable);
}

}  // namespace
}  // namespace omnibal::runtime
