// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(CodecFiles, ReadsAndMapsTheSameBytes) {
  const ScratchDirectory scratch;
  const std::string content = std::string("a\0b\n", 4) + std::string(10'000, 'x');
  const std::string path = scratch.write("a", content);
  EXPECT_EQ(*read_file(path), content);
  const Result<MappedFile> mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(text_of(*mapped), content);
}

TEST(CodecFiles, AnEmptyFileIsNoBytes) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("a", "");
  EXPECT_EQ(*read_file(path), "");
  EXPECT_TRUE(MappedFile::open(path)->bytes().empty());
}

TEST(CodecFiles, PaddingBehindTheFileIsReadableZeroes) {
  const ScratchDirectory scratch;
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 8192}) {
    const std::string path = scratch.write("a", std::string(size, 'x'));
    const Result<MappedFile> mapped = MappedFile::open(path, 64);
    ASSERT_TRUE(mapped.ok());
    ASSERT_EQ(mapped->bytes().size(), size);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(mapped->bytes().data()[size + i], std::byte{0});
  }
}

TEST(CodecFiles, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const ScratchDirectory scratch;
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {scratch.path(), pipe, std::string("/dev/zero")}) {
    EXPECT_EQ(read_file(path).error().code, ErrorCode::kFileUnreadable) << path;
    EXPECT_EQ(MappedFile::open(path).error().code, ErrorCode::kFileUnreadable) << path;
    EXPECT_EQ(read_file(path).error().where.file, path);
  }
}

TEST(CodecFiles, AStreamMayBeAPipeWhereThatIsAskedFor) {
  const ScratchDirectory scratch;
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ByteStream::open(pipe).error().code, ErrorCode::kFileUnreadable);
  const std::string content(200'000, 'x');
  std::thread writer([&] { std::ofstream(pipe) << content; });
  Result<ByteStream> stream = ByteStream::open(pipe, ByteStream::Accept::kPipesToo);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(stream->size(), 0);
  std::string read(content.size() + 1, ' ');
  EXPECT_EQ(*stream->read(std::span(read)), content.size());
  EXPECT_TRUE(read.starts_with(content));
  writer.join();
  for (const std::string& path : {scratch.path(), std::string("/dev/zero")}) {
    EXPECT_EQ(ByteStream::open(path, ByteStream::Accept::kPipesToo).error().code,
              ErrorCode::kFileUnreadable);
  }
}

TEST(CodecFiles, NamesAnAbsentFile) {
  const ScratchDirectory scratch;
  const std::string file = scratch.write("a", "x");
  for (const std::string& path : {scratch / "absent", file + "/b", std::string()}) {
    EXPECT_EQ(read_file(path).error().code, ErrorCode::kFileNotFound) << path;
  }
}

}  // namespace
}  // namespace omnibal::codec
