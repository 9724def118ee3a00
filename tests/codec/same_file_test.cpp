// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/same_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

namespace fs = std::filesystem;

TEST(CodecSameFile, LinksOfBothKindsLeadToTheFile) {
  const ScratchDirectory scratch;
  const std::string file = scratch.write("a", "x");
  const std::string other = scratch.write("b", "x");
  fs::create_symlink("a", scratch / "soft");
  fs::create_hard_link(file, scratch / "hard");
  EXPECT_TRUE(is_same_file(file, file));
  EXPECT_TRUE(is_same_file(file, scratch / "./a"));
  EXPECT_TRUE(is_same_file(file, scratch / "soft"));
  EXPECT_TRUE(is_same_file(scratch / "hard", scratch / "soft"));
  EXPECT_FALSE(is_same_file(file, other));
  EXPECT_FALSE(is_same_file(file, scratch / "absent"));
}

TEST(CodecSameFile, NamesOfAbsentFilesAreCompared) {
  const ScratchDirectory scratch;
  fs::create_symlink("absent", scratch / "link");
  fs::create_symlink("link", scratch / "link-to-link");
  EXPECT_TRUE(is_same_file(scratch / "absent", scratch / "./absent"));
  EXPECT_TRUE(is_same_file(scratch / "absent", scratch / "link-to-link"));
  EXPECT_FALSE(is_same_file(scratch / "absent", scratch / "none"));
  EXPECT_FALSE(is_same_file(scratch / "x/absent", scratch / "y/absent"));
}

TEST(CodecSameFile, PipesAreComparedAndDevicesAreNot) {
  const ScratchDirectory scratch;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string pipe = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_TRUE(is_same_file(pipe, pipe));
  EXPECT_FALSE(is_same_file(pipe, scratch.write("a", "")));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(CodecSameFile, WhatLiesInADirectoryLiesThereBehindLinksToo) {
  const ScratchDirectory scratch;
  const std::string file = scratch.write("d/e/a", "x");
  fs::create_directory_symlink("d", scratch / "link");
  fs::create_symlink("d/e/a", scratch / "to-a");
  for (const char* directory : {"d", "d/e", "link", "link/e", "./d/"}) {
    EXPECT_TRUE(lies_in(file, scratch / directory)) << directory;
    EXPECT_TRUE(lies_in(scratch / "to-a", scratch / directory)) << directory;
  }
  EXPECT_TRUE(lies_in(scratch / "d", scratch / "link"));
  EXPECT_TRUE(lies_in(scratch / "d/absent/a", scratch / "link"));
  EXPECT_TRUE(lies_in(scratch / "absent/a", scratch / "absent"));
  EXPECT_TRUE(lies_in(file, "/"));
  EXPECT_FALSE(lies_in(scratch / "d", scratch / "d/e"));
  EXPECT_FALSE(lies_in(scratch / "de", scratch / "d"));
  EXPECT_FALSE(lies_in(scratch / "absent/a", scratch / "d"));
}

}  // namespace
}  // namespace omnibal::codec
