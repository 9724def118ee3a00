// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/image_header.h"

#include <gtest/gtest.h>

#include "runtime/image/sample_images.h"

namespace omnibal::runtime {
namespace {

Result<ImageHeader> header_of(std::string_view file) {
  return read_image_header(bytes_of(file), "a.jpg");
}

ErrorCode code_of(std::string_view file) { return header_of(file).error().code; }

TEST(RuntimeImageHeader, AnEmptyFileIsToldApart) {
  EXPECT_EQ(code_of(""), ErrorCode::kEmptyInput);
  EXPECT_EQ(header_of("").error().where.file, "a.jpg");
}

TEST(RuntimeImageHeader, WhatIsNoImageIsNamed) {
  EXPECT_EQ(code_of("<html><body>404</body></html>"), ErrorCode::kUnknownFormat);
  EXPECT_EQ(header_of("<html>").error().message, "the file is not an image");
  EXPECT_EQ(header_of(raw("II*\0\x08\0\0\0")).error().message, "TIFF images are not read");
  EXPECT_EQ(header_of(raw("\0\0\0\x1c"
                          "ftypavif"))
                .error()
                .message,
            "AVIF images are not read");
  EXPECT_EQ(header_of("BMW was here, no bitmap").error().message, "the file is not an image");
  EXPECT_EQ(header_of(raw("BM\x36\0\0\0\0\0\0\0\x36\0")).error().message,
            "BMP images are not read");
}

TEST(RuntimeImageHeader, ContentDecidesNotTheName) {
  EXPECT_EQ(header_of(png_header(640, 480))->format, ImageFormat::kPng);
  EXPECT_EQ(header_of(jpeg_file(30, 20))->format, ImageFormat::kJpeg);
}

TEST(RuntimeImageHeader, SizesComeFromTheHeaderAlone) {
  const Result<ImageHeader> png = header_of(png_header(20000, 20000));
  ASSERT_TRUE(png.ok());
  EXPECT_EQ(png->width, 20000);
  EXPECT_EQ(header_of(png_header(0x7fffffff, 1))->width, 0x7fffffff);
  EXPECT_EQ(code_of(png_header(0x80000000U, 1)), ErrorCode::kMalformedImage);
  EXPECT_EQ(code_of(png_header(0, 1)), ErrorCode::kMalformedImage);
  const std::string jpeg = jpeg_file(30, 20);
  const Result<ImageHeader> cut = header_of(std::string_view(jpeg).substr(0, jpeg.size() - 15));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->width, 30);
  EXPECT_EQ(cut->height, 20);
}

TEST(RuntimeImageHeader, OrientationSwapsTheSides) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string png =
        png_file({.width = 3, .height = 1, .exif = exif_of(orientation)}, std::string(9, 'x'));
    for (const std::string& file : {jpeg_file(30, 10, orientation), png}) {
      const Result<ImageHeader> header = header_of(file);
      ASSERT_TRUE(header.ok());
      EXPECT_EQ(header->orientation, orientation);
      EXPECT_EQ(header->upright_width() > header->upright_height(), orientation < 5);
    }
  }
  EXPECT_EQ(header_of(jpeg_file(30, 10, 9))->orientation, 1);
}

TEST(RuntimeImageHeader, EveryPrefixIsReadOrRefused) {
  const std::string files[] = {
      jpeg_file(30, 10, 6), png_file({.width = 3, .exif = exif_of(6)}, std::string(9, 'x')),
      raw("GIF89a\x02\0\x02\0\x80\0\0......!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x02\0\x02\0\0"),
      raw("RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0/\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0")};
  for (const std::string& file : files) {
    ASSERT_TRUE(header_of(file).ok());
    for (std::size_t size = 0; size < file.size(); ++size) {
      const std::string prefix = file.substr(0, size);  // its own buffer: sanitizers see its end
      if (const Result<ImageHeader> header = header_of(prefix)) {
        EXPECT_GT(header->width, 0);
      } else {
        EXPECT_NE(header.error().code, ErrorCode::kInternal);
      }
    }
  }
}

}  // namespace
}  // namespace omnibal::runtime
