// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/npy.h"

#include <gmock/gmock.h>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A .npy file of version `version` with any header text and data.
std::string npy_bytes(std::string header, std::string_view data, char version = 1) {
  header += '\n';
  std::string file = std::string("\x93NUMPY") + version + '\0';
  for (std::size_t i = 0; i < (version == 1 ? 2U : 4U); ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return file + header + std::string(data);
}

Error error_of(const std::string& content) {
  const ScratchDirectory scratch;
  const Result<NpyFile> file = NpyFile::open(scratch.write("a.npy", content));
  if (file.ok()) return {ErrorCode::kInternal, "was accepted"};
  return file.error();
}

// Headers made by numpy 2.4.6 (numpy.lib.format.write_array_header_1_0).
TEST(CodecNpy, WritesTheHeaderThatNumpyWrites) {
  const ScratchDirectory scratch;
  const auto header_of = [&](DType dtype, std::vector<std::int64_t> shape, std::size_t bytes) {
    const std::vector<std::byte> data(bytes);
    EXPECT_TRUE(write_npy_bytes(scratch / "a.npy", dtype, shape, data).ok());
    return content_of(scratch / "a.npy").substr(0, 128);
  };
  const auto golden = [](std::string_view dictionary) {
    std::string header = std::string("\x93NUMPY\x01\x00v\x00", 10) + std::string(dictionary);
    return header + std::string(127 - header.size(), ' ') + '\n';
  };
  EXPECT_EQ(header_of(DType::kI8, {3}, 24),
            golden("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_EQ(header_of(DType::kU4, {0}, 0),
            golden("{'descr': '<u4', 'fortran_order': False, 'shape': (0,), }"));
  EXPECT_EQ(header_of(DType::kI8, {2, 3, 4}, 192),
            golden("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3, 4), }"));
  EXPECT_EQ(header_of(DType::kF8, {}, 8),
            golden("{'descr': '<f8', 'fortran_order': False, 'shape': (), }"));
  EXPECT_EQ(header_of(DType::kU1, {5}, 5),
            golden("{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }"));
}

TEST(CodecNpy, ReadsBackWhatItWrote) {
  const ScratchDirectory scratch;
  const std::vector<std::int64_t> ids = {1, -1, INT64_MAX, INT64_MIN, 0, 7};
  const std::vector<std::int64_t> shape = {2, 3};
  ASSERT_TRUE(write_npy<std::int64_t>(scratch / "a.npy", shape, ids).ok());
  const Result<NpyFile> file = NpyFile::open(scratch / "a.npy");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->shape(), shape);
  EXPECT_EQ(file->dtype(), DType::kI8);
  const auto values = file->as<std::int64_t>(2);
  ASSERT_TRUE(values.ok());
  EXPECT_TRUE(std::equal(values->begin(), values->end(), ids.begin(), ids.end()));
  EXPECT_THAT(file->as<std::int32_t>(2).error().message, HasSubstr("another type"));
  EXPECT_THAT(file->as<std::int64_t>(1).error().message, HasSubstr("dimensions"));
}

TEST(CodecNpy, ReadsOtherSpellingsThatNumpyReads) {
  const ScratchDirectory scratch;
  const std::string two(2, '\0');
  // Another key order, other quotes, no trailing commas; version 2.0.
  const std::string header = "{\"shape\": (2), 'fortran_order': False, 'descr': '|u1'}";
  for (const char version : {'\1', '\2'}) {
    const Result<NpyFile> file =
        NpyFile::open(scratch.write("a.npy", npy_bytes(header, two, version)));
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_THAT(file->shape(), ElementsAre(2));
  }
  // One dimension in Fortran order is C order.
  const std::string fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2,), }";
  EXPECT_TRUE(NpyFile::open(scratch.write("a.npy", npy_bytes(fortran, two))).ok());
}

TEST(CodecNpy, TrustsNothing) {
  const auto header = [](std::string descr, std::string shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  };
  const std::string eight(8, '\0');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "empty"},
      {"not an array", "not a .npy"},
      {"\x93NUM", "not a .npy"},
      {"\x93NUMPY", "cut off"},
      {std::string("\x93NUMPY\x01\x00\x10", 9), "cut off"},
      {std::string("\x93NUMPY\x03\x00\x10\x00", 10), "another version"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), "longer than the file"},
      {npy_bytes(header("<i8", "(2,)"), eight), "does not account"},
      {npy_bytes(header("<i8", "(0,)"), eight), "does not account"},
      {npy_bytes(header("<i8", "(1,)"), "1234567"), "does not account"},
      {npy_bytes(header("|u1", "(4294967296, 4294967296)"), eight), "does not account"},
      {npy_bytes(header("|u1", "(4611686018427387904, 4, 0)"), eight), "does not account"},
      {npy_bytes(header("|u1", "(99999999999999999999,)"), eight), "dictionary"},
      {npy_bytes(header("|u1", "(-8,)"), eight), "dictionary"},
      {npy_bytes(header("|u1", "(8,), 'shape': (8,)"), eight), "dictionary"},
      {npy_bytes("{'descr': '|u1', 'shape': (8,), }", eight), "dictionary"},
      {npy_bytes("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }", eight),
       "dictionary"},
      {npy_bytes(header("|u1", "(8,)") + "x", eight), "dictionary"},
      {npy_bytes(header(">i8", "(1,)"), eight), "element type"},
      {npy_bytes(header("|O", "(1,)"), eight), "element type"},
      {npy_bytes("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 4), }", eight), "Fortran"},
      {npy_bytes(header("<i8", "(1,)"), eight), "multiple of the element size"},
  };
  for (const auto& [content, reason] : cases) {
    const Error error = error_of(content);
    EXPECT_EQ(error.code, ErrorCode::kMalformedNpy) << content;
    EXPECT_THAT(error.message, HasSubstr(reason)) << content;
  }
}

TEST(CodecNpy, EveryCutOfAFileIsAnErrorNotACrash) {
  const ScratchDirectory scratch;
  const std::vector<std::uint32_t> values = {1, 2, 3};
  const std::vector<std::int64_t> shape = {3};
  ASSERT_TRUE(write_npy<std::uint32_t>(scratch / "a.npy", shape, values).ok());
  const std::string whole = content_of(scratch / "a.npy");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(NpyFile::open(scratch.write("b.npy", whole.substr(0, length))).ok()) << length;
  }
  EXPECT_FALSE(NpyFile::open(scratch.write("b.npy", whole + "x")).ok());
}

TEST(CodecNpy, EveryFlippedHeaderBitIsReadSafely) {
  const ScratchDirectory scratch;
  const std::vector<std::uint16_t> values = {1, 2, 3};
  const std::vector<std::int64_t> shape = {3};
  ASSERT_TRUE(write_npy<std::uint16_t>(scratch / "a.npy", shape, values).ok());
  const std::string whole = content_of(scratch / "a.npy");
  for (std::size_t bit = 0; bit < 8 * 128; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Result<NpyFile> file = NpyFile::open(scratch.write("b.npy", flipped));
    if (!file.ok()) continue;
    const auto column = file->as<std::uint16_t>(1);
    if (column.ok()) {
      EXPECT_EQ(column->size(), 3U);
    }
  }
}

TEST(CodecNpy, SaysWhyItCannotWrite) {
  const ScratchDirectory scratch;
  const std::vector<std::int64_t> shape = {0};
  const Status status = write_npy_bytes(scratch / "absent/a.npy", DType::kI8, shape, {});
  EXPECT_EQ(status.error().code, ErrorCode::kWriteFailed);
}

}  // namespace
}  // namespace omnibal::codec
