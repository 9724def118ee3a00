// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/atomic_write.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

const DirectoryKind kPlan{"plan.json", "test.plan", {"plan.json", "stale.npy"}};
constexpr const char* kOld = R"({"format": "test.plan", "is": "old"})";
constexpr const char* kNew = R"({"format": "test.plan", "is": "new"})";

Status commit_one(const std::string& target, std::string_view content) {
  OMNIBAL_ASSIGN(StagedDirectory staged, StagedDirectory::create(target, kPlan));
  std::ofstream(staged.path() + "/plan.json") << content;
  return staged.commit();
}

/// What temporary names beside "plan" begin with on this host, before the process id.
std::string prefix_of_this_host(const ScratchDirectory& scratch) {
  const Result<StagedDirectory> staged = StagedDirectory::create(scratch / "plan", kPlan);
  const std::string name = fs::path(staged->path()).filename().string();
  return name.substr(0, name.find("-" + std::to_string(::getpid()) + "-") + 1);
}

/// The id of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(CodecAtomicWrite, CreatesAndReplacesAFileLeavingNothingElse) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file_atomically(scratch / "a.json", "one").ok());
  ASSERT_TRUE(write_file_atomically(scratch / "a.json", "two").ok());
  EXPECT_EQ(content_of(scratch / "a.json"), "two");
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("a.json"));
}

TEST(CodecAtomicWrite, WritesThroughALinkAndRefusesOtherThings) {
  const ScratchDirectory scratch;
  scratch.write("real", "old");
  fs::create_symlink("real", scratch / "link");
  ASSERT_TRUE(write_file_atomically(scratch / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_EQ(content_of(scratch / "real"), "new");
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(write_file_atomically(scratch / "pipe", "x").error().code, ErrorCode::kWouldOverwrite);
  EXPECT_EQ(write_file_atomically(scratch.path(), "x").error().code, ErrorCode::kWouldOverwrite);
  EXPECT_EQ(write_file_atomically(scratch / "absent/a", "x").error().code, ErrorCode::kWriteFailed);
}

TEST(CodecStagedDirectory, AppearsWholeOnCommit) {
  const ScratchDirectory scratch;
  const std::string target = scratch / "deep/plan/";
  Result<StagedDirectory> staged = StagedDirectory::create(target, kPlan);
  ASSERT_TRUE(staged.ok());
  std::ofstream(staged->path() + "/plan.json") << "new";
  fs::create_directory(staged->path() + "/sub");
  std::ofstream(staged->path() + "/sub/a") << "b";
  EXPECT_FALSE(fs::exists(target));
  ASSERT_TRUE(staged->commit().ok());
  EXPECT_EQ(content_of(target + "plan.json"), "new");
  EXPECT_EQ(content_of(target + "sub/a"), "b");
  EXPECT_THAT(names_in(scratch / "deep"), ElementsAre("plan"));
}

TEST(CodecStagedDirectory, ReplacesAnOldOneWhole) {
  const ScratchDirectory scratch;
  scratch.write("plan/plan.json", kOld);
  scratch.write("plan/stale.npy", "old");
  ASSERT_TRUE(commit_one(scratch / "plan", kNew).ok());
  EXPECT_THAT(names_in(scratch / "plan"), ElementsAre("plan.json"));
  EXPECT_EQ(content_of(scratch / "plan/plan.json"), kNew);
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("plan"));
}

TEST(CodecStagedDirectory, FollowsALinkToADirectory) {
  const ScratchDirectory scratch;
  scratch.write("real/plan.json", kOld);
  fs::create_directory_symlink("real", scratch / "link");
  ASSERT_TRUE(commit_one(scratch / "link", kNew).ok());
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_EQ(content_of(scratch / "real/plan.json"), kNew);
}

TEST(CodecStagedDirectory, WithoutCommitTheOldOneStays) {
  const ScratchDirectory scratch;
  scratch.write("plan/plan.json", kOld);
  {
    const Result<StagedDirectory> staged = StagedDirectory::create(scratch / "plan", kPlan);
    ASSERT_TRUE(staged.ok());
    std::ofstream(staged->path() + "/plan.json") << "new";
  }
  EXPECT_EQ(content_of(scratch / "plan/plan.json"), kOld);
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("plan"));
}

TEST(CodecStagedDirectory, RefusesForeignDirectoriesAndFiles) {
  const ScratchDirectory scratch;
  scratch.write("photos/a.jpg", "x");
  scratch.write("file", "x");
  fs::create_directory(scratch / "empty");
  for (const std::string name : {"photos", "file"}) {
    const Error error = StagedDirectory::create(scratch / name, kPlan).error();
    EXPECT_EQ(error.code, ErrorCode::kWouldOverwrite) << name;
  }
  EXPECT_TRUE(commit_one(scratch / "empty", kNew).ok());
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("empty", "file", "photos"));
}

TEST(CodecStagedDirectory, RefusesOursWithSomethingForeignInIt) {
  for (const char* foreign : {"plan/thesis.tex", "plan/sub/weights"}) {
    const ScratchDirectory scratch;
    scratch.write("plan/plan.json", kOld);
    scratch.write(foreign, "years of work");
    EXPECT_EQ(commit_one(scratch / "plan", kNew).error().code, ErrorCode::kWouldOverwrite);
    EXPECT_EQ(content_of(scratch / foreign), "years of work");
  }
}

TEST(CodecStagedDirectory, RefusesAForeignFileOfTheMarkersName) {
  const ScratchDirectory scratch;
  scratch.write("plan/plan.json", R"({"my": "own"})");
  EXPECT_EQ(commit_one(scratch / "plan", kNew).error().code, ErrorCode::kWouldOverwrite);
}

TEST(CodecStagedDirectory, RefusesALinkThatLeadsNowhere) {
  const ScratchDirectory scratch;
  fs::create_directory_symlink("nowhere", scratch / "link");
  EXPECT_EQ(commit_one(scratch / "link", kNew).error().code, ErrorCode::kWouldOverwrite);
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
}

TEST(CodecStagedDirectory, DoesNotReplaceWhatBecameForeignMeanwhile) {
  const ScratchDirectory scratch;
  Result<StagedDirectory> staged = StagedDirectory::create(scratch / "plan", kPlan);
  ASSERT_TRUE(staged.ok());
  scratch.write("plan/thesis.tex", "x");
  EXPECT_EQ(staged->commit().error().code, ErrorCode::kWouldOverwrite);
  EXPECT_EQ(content_of(scratch / "plan/thesis.tex"), "x");
}

TEST(CodecStagedDirectory, AKilledWriterLeavesTheOldOneAndTheNextRemovesItsRest) {
  const ScratchDirectory scratch;
  scratch.write("plan/plan.json", kOld);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<StagedDirectory> staged = StagedDirectory::create(scratch / "plan", kPlan);
    std::ofstream(staged->path() + "/plan.json") << "half";
    ::_exit(0);  // no destructor runs, as when killed
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(content_of(scratch / "plan/plan.json"), kOld);
  EXPECT_EQ(names_in(scratch.path()).size(), 2U);
  ASSERT_TRUE(commit_one(scratch / "plan", kNew).ok());
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("plan"));
}

TEST(CodecStagedDirectory, LeavesTheWorkOfLivingProcessesAndOtherNames) {
  const ScratchDirectory scratch;
  const std::string prefix = prefix_of_this_host(scratch);
  const std::string dead = std::to_string(dead_process());
  const std::string other_target = prefix.substr(0, 5) + "2" + prefix.substr(5);
  const std::vector<std::string> kept = {prefix + std::to_string(::getppid()) + "-0",
                                         other_target + dead + "-0", prefix + "x", prefix + dead};
  for (const std::string& name : kept) {
    scratch.write(name + "/plan.json", "x");
  }
  scratch.write(prefix + dead + "-3/plan.json", "x");
  ASSERT_TRUE(commit_one(scratch / "plan", kNew).ok());
  EXPECT_EQ(names_in(scratch.path()).size(), 5U);
  EXPECT_FALSE(fs::exists(scratch / (prefix + dead + "-3")));
}

TEST(CodecStagedDirectory, LeavesTheWorkOfOtherHosts) {
  const ScratchDirectory scratch;
  std::string prefix = prefix_of_this_host(scratch);
  ASSERT_THAT(prefix, testing::MatchesRegex("\\.plan\\.omnibal-[0-9a-f]+-"));
  char& digit = prefix[prefix.size() - 2];
  digit = digit == '0' ? '1' : '0';
  // Its process id is free here, and may be at work there.
  const std::string other_host = prefix + std::to_string(dead_process()) + "-0";
  scratch.write(other_host + "/plan.json", "x");
  ASSERT_TRUE(commit_one(scratch / "plan", kNew).ok());
  EXPECT_TRUE(fs::exists(scratch / other_host));
}

TEST(CodecStagedDirectory, TwoOfOneProcessDoNotMeet) {
  const ScratchDirectory scratch;
  Result<StagedDirectory> first = StagedDirectory::create(scratch / "plan", kPlan);
  Result<StagedDirectory> second = StagedDirectory::create(scratch / "plan", kPlan);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->path(), second->path());
  std::ofstream(first->path() + "/plan.json") << kOld;
  std::ofstream(second->path() + "/plan.json") << kNew;
  ASSERT_TRUE(first->commit().ok());
  ASSERT_TRUE(second->commit().ok());
  EXPECT_EQ(content_of(scratch / "plan/plan.json"), kNew);
}

TEST(CodecStagedDirectory, MovesWithoutRemovingOrDoubling) {
  const ScratchDirectory scratch;
  Result<StagedDirectory> made = StagedDirectory::create(scratch / "plan", kPlan);
  ASSERT_TRUE(made.ok());
  StagedDirectory moved = *std::move(made);
  std::ofstream(moved.path() + "/plan.json") << "x";
  ASSERT_TRUE(moved.commit().ok());
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("plan"));
}

}  // namespace
}  // namespace omnibal::codec
