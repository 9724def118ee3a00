// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/append_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

TEST(CodecAppendFile, IsContinuedWhereItWasMarked) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("a", "what was there before");
  AppendFile::Mark mark;
  {
    AppendFile file = *AppendFile::create(path);
    ASSERT_TRUE(file.append("one\n").ok());
    mark = *file.sync();
    ASSERT_TRUE(file.append("two, which no mark knows\n").ok());
  }
  EXPECT_EQ(content_of(path), "one\ntwo, which no mark knows\n");
  {
    AppendFile file = *AppendFile::reopen(path, mark);
    ASSERT_TRUE(file.append("two\n").ok());
    EXPECT_EQ(file.sync()->bytes, 8);
  }
  EXPECT_EQ(content_of(path), "one\ntwo\n");
}

TEST(CodecAppendFile, MoreThanItsBufferIsWrittenInOrder) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "a";
  std::string all;
  {
    AppendFile file = *AppendFile::create(path);
    for (int i = 0; i < 30'000; ++i) {
      const std::string line = std::to_string(i) + "\n";
      all += line;
      ASSERT_TRUE(file.append(line).ok());
    }
  }
  EXPECT_EQ(content_of(path), all);
}

TEST(CodecAppendFile, AnotherFileIsLeftAsItIs) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "a";
  AppendFile::Mark mark;
  {
    AppendFile file = *AppendFile::create(path);
    ASSERT_TRUE(file.append("one\n").ok());
    mark = *file.sync();
  }
  scratch.write("a", "one");
  EXPECT_EQ(AppendFile::reopen(path, mark).error().code, ErrorCode::kChecksumMismatch);
  scratch.write("a", "onE\nand more");
  EXPECT_EQ(AppendFile::reopen(path, mark).error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(content_of(path), "onE\nand more");
  EXPECT_EQ(AppendFile::reopen(scratch / "absent", mark).error().code, ErrorCode::kFileNotFound);
  EXPECT_EQ(AppendFile::create(scratch / "none/a").error().code, ErrorCode::kWriteFailed);
}

TEST(CodecAppendFile, NothingIsReplacedBeforeSomethingIsWritten) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("a", "old");
  { const AppendFile unused = *AppendFile::create(path); }
  EXPECT_EQ(content_of(path), "old");
  {
    AppendFile file = *AppendFile::create(path);
    ASSERT_TRUE(file.append("x").ok());
    EXPECT_EQ(content_of(path), "old");
    ASSERT_TRUE(file.flush().ok());
    EXPECT_EQ(content_of(path), "x");
  }
  {
    AppendFile file = *AppendFile::create(path);
    ASSERT_TRUE(file.finish().ok());
  }
  EXPECT_EQ(content_of(path), "");
}

TEST(CodecAppendFile, AMarkAtTheBeginningFitsNoFileOfAnotherContent) {
  const ScratchDirectory scratch;
  const AppendFile::Mark beginning = *AppendFile::create(scratch / "empty")->sync();
  const auto continued = [&](const std::string& content) {
    const std::string path = scratch.write("a", content);
    AppendFile file = *AppendFile::reopen(path, beginning);
    EXPECT_TRUE(file.append("one\n").ok());
    const Status status = file.flush();
    EXPECT_EQ(file.sync().ok(), status.ok());
    EXPECT_EQ(content_of(path), status.ok() ? "one\n" : content);
    return status.ok();
  };
  EXPECT_TRUE(continued(""));
  EXPECT_TRUE(continued("on"));
  EXPECT_TRUE(continued("one\n"));
  EXPECT_TRUE(continued("one\ntwo, which no mark knows\n"));
  EXPECT_FALSE(continued("two\n"));
  EXPECT_FALSE(continued("once upon a time"));
  ASSERT_TRUE(AppendFile::reopen(scratch / "new", beginning).ok());
}

TEST(CodecAppendFile, WhatNothingWasWrittenToKeepsItsContentToTheEnd) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("a", "precious");
  AppendFile file = *AppendFile::reopen(path, {});
  ASSERT_TRUE(file.flush().ok());
  EXPECT_EQ(file.sync()->bytes, 0);
  EXPECT_EQ(file.finish().error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(content_of(path), "precious");
}

TEST(CodecAppendFile, APipeIsTakenAsItIsAndItsMissingReaderToldApart) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::signal(SIGPIPE, SIG_IGN);
  AppendFile file = *AppendFile::create("/dev/fd/" + std::to_string(ends[1]));
  ::close(ends[1]);
  ASSERT_TRUE(file.append("x").ok());
  ASSERT_TRUE(file.sync().ok());
  EXPECT_EQ(file.sync()->bytes, 0);
  EXPECT_FALSE(file.reader_gone());
  ::close(ends[0]);
  ASSERT_TRUE(file.append("y").ok());
  EXPECT_EQ(file.flush().error().code, ErrorCode::kWriteFailed);
  EXPECT_TRUE(file.reader_gone());
}

}  // namespace
}  // namespace omnibal::codec
