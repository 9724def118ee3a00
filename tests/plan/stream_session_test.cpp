// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream_session.h"

#include <gtest/gtest.h>

#include <map>

#include "codec/scratch_directory.h"
#include "omnibal/plan/stream_state.h"
#include "plan/made_stream.h"

namespace omnibal::plan {
namespace {

namespace fs = std::filesystem;

/// Sample i of the stream, as row `file_row` of the file that it lies in.
corpus::StreamedSample streamed(const std::vector<pack::StreamSample>& samples, std::size_t i,
                                std::int64_t file_row) {
  const auto row = static_cast<std::int64_t>(i);
  return {.id = row,
          .source = "rows",
          .row = row,
          .file = "rows.jsonl",
          .file_row = file_row,
          .vision = samples[i].vision,
          .tokens = samples[i].tokens,
          .at = {.rows = row},
          .behind = {.rows = row + 1}};
}

corpus::StreamedSample streamed(const std::vector<pack::StreamSample>& samples, std::size_t i) {
  return streamed(samples, i, static_cast<std::int64_t>(i));
}

StreamFiles files_in(const ScratchDirectory& scratch) {
  return {.inputs = {scratch / "rows.jsonl"},
          .out = scratch / "steps",
          .rejected = scratch / "rejected",
          .state = scratch / "state",
          .save_every = 10};
}

Status take(StreamSession& session, const std::vector<pack::StreamSample>& samples,
            std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    if (Status status = session.take(streamed(samples, i)); !status.ok()) return status;
  }
  return {};
}

/// By reason.
std::map<std::string, std::int64_t> counts_of(const StreamSession& session) {
  std::map<std::string, std::int64_t> counts;
  for (const RejectedKind& kind : session.rejected()) counts[kind.reason] = kind.count;
  return counts;
}

TEST(PlanStreamSession, RejectedSamplesAreThoseOfTheWholeStreamAfterAResume) {
  const ScratchDirectory scratch;
  const std::vector<pack::StreamSample> samples = random_samples(600);
  const ScratchDirectory whole_scratch;
  StreamSession whole = *StreamSession::open(small_options(), files_in(whole_scratch));
  ASSERT_TRUE(take(whole, samples, 0, 600).ok());
  ASSERT_TRUE(whole.close().ok());
  StreamFiles files = files_in(scratch);
  {
    StreamSession session = *StreamSession::open(small_options(), files);
    ASSERT_TRUE(take(session, samples, 0, 300).ok());
    ASSERT_TRUE(session.save().ok());
  }
  files.resume = true;
  StreamSession session = *StreamSession::open(small_options(), files);
  ASSERT_TRUE(take(session, samples, 0, 600).ok());
  ASSERT_TRUE(session.close().ok());
  ASSERT_EQ(counts_of(session), counts_of(whole));
  std::int64_t rejected = 0;
  for (const auto& [reason, count] : counts_of(session)) rejected += count;
  EXPECT_GT(rejected, 0);
  EXPECT_EQ(session.planner().summary()["rejected"], rejected);
  EXPECT_EQ(content_of(scratch / "rejected"), content_of(whole_scratch / "rejected"));
  EXPECT_EQ(content_of(scratch / "steps"), content_of(whole_scratch / "steps"));
}

TEST(PlanStreamSession, ThePositionOfTheInputIsKeptInTheState) {
  const ScratchDirectory scratch;
  const std::vector<pack::StreamSample> samples = random_samples(50);
  StreamFiles files = files_in(scratch);
  {
    StreamSession session = *StreamSession::open(small_options(), files);
    ASSERT_TRUE(take(session, samples, 0, 50).ok());
    const corpus::StreamPosition stopped{.rows = 53, .copies = 2, .weights = 77};
    const Error error = session.break_off(Error(ErrorCode::kMalformedJson, "bad"), stopped);
    EXPECT_EQ(error.code, ErrorCode::kMalformedJson);
    EXPECT_NE(error.hint.find("--resume"), std::string::npos);
  }
  files.resume = true;
  StreamSession again = *StreamSession::open(small_options(), files);
  const corpus::StreamPosition expected{.rows = 53, .copies = 2, .weights = 77};
  EXPECT_EQ(again.position(), expected);
  // An error in what the state knows already takes nothing back.
  ASSERT_TRUE(take(again, samples, 0, 20).ok());
  const Error early = again.break_off(Error(ErrorCode::kMalformedJson, "bad"), {.rows = 20});
  EXPECT_EQ(early.hint, "");
  EXPECT_EQ(again.position(), expected);
}

TEST(PlanStreamSession, ARefusedSampleIsNamedInItsFileAndNotGiven) {
  const ScratchDirectory scratch;
  StreamOptions options = small_options();
  options.packing.admission.over_long = pack::OverLong::kError;
  const std::vector<pack::StreamSample> samples = {{0, 1, 300}, {1, 1, 9000}};
  StreamFiles files = files_in(scratch);
  {
    StreamSession session = *StreamSession::open(options, files);
    ASSERT_TRUE(session.take(streamed(samples, 0, 100)).ok());
    const Status status = session.take(streamed(samples, 1, 101));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kTokenCapExceeded);
    EXPECT_EQ(status.error().where.file, "rows.jsonl");
    EXPECT_EQ(status.error().where.row, 101);
  }
  files.resume = files.input_continues = true;
  const StreamSession session = *StreamSession::open(options, files);
  EXPECT_EQ(session.planner().num_samples(), 1);
  EXPECT_EQ(session.position(), corpus::StreamPosition{.rows = 1});
}

TEST(PlanStreamSession, WhereAllSamplesAreRejectedTheFirstIsTold) {
  const ScratchDirectory scratch;
  const std::vector<pack::StreamSample> samples = {{0, 12, 300}, {1, 1, 0}, {2, 1, 9000}};
  StreamSession session = *StreamSession::open(small_options(), files_in(scratch));
  ASSERT_TRUE(take(session, samples, 0, 3).ok());
  const Error error = session.close().error();
  EXPECT_EQ(error.code, ErrorCode::kNothingUsable);
  EXPECT_EQ(error.message, "0 of 3 samples are usable");
  EXPECT_EQ(error.where.file, "rows.jsonl");
  EXPECT_EQ(error.where.row, 0);
  EXPECT_EQ(error.where.key, "vit_num");
  EXPECT_EQ(error.value, ErrorValue(std::int64_t{12}));
  EXPECT_EQ(error.limit, ErrorValue(std::int64_t{9}));
}

TEST(PlanStreamSession, ListedOrNotRejectedSamplesStayAsTheyWere) {
  const ScratchDirectory scratch;
  const std::vector<pack::StreamSample> samples = {{0, 1, 300}, {1, 1, 9000}};
  const auto error_after = [&](const std::string& rejected, std::size_t given,
                               const std::string& then) {
    fs::remove_all(scratch / "state");
    StreamFiles files = files_in(scratch);
    files.rejected = rejected;
    {
      StreamSession session = *StreamSession::open(small_options(), files);
      EXPECT_TRUE(take(session, samples, 0, given).ok());
      EXPECT_TRUE(session.save().ok());
    }
    files.resume = true;
    files.rejected = then;
    const auto session = StreamSession::open(small_options(), files);
    return session.ok() ? std::string("none") : session.error().message;
  };
  const std::string file = scratch / "rejected";
  EXPECT_EQ(error_after("", 2, file), "so far rejected samples were not listed");
  EXPECT_EQ(error_after(file, 2, ""), "so far rejected samples were listed in a file");
  EXPECT_EQ(error_after("", 1, file), "none");
  EXPECT_EQ(error_after(file, 2, file), "none");
  EXPECT_EQ(error_after("", 2, ""), "none");
}

TEST(PlanStreamSession, NothingIsReplacedBeforeEverythingIsFoundUsable) {
  const ScratchDirectory scratch;
  const std::string out = scratch.write("steps", "old");
  const auto refused = [&](const auto& change) {
    StreamFiles files = files_in(scratch);
    change(files);
    const auto session = StreamSession::open(small_options(), files);
    EXPECT_FALSE(session.ok());
    EXPECT_EQ(content_of(out), "old");
    return session.error().code;
  };
  scratch.write("foreign/a", "x");
  EXPECT_EQ(refused([&](StreamFiles& f) { f.state = scratch / "foreign"; }),
            ErrorCode::kWouldOverwrite);
  EXPECT_EQ(refused([&](StreamFiles& f) { f.rejected = scratch / "none/rejected"; }),
            ErrorCode::kWriteFailed);
  EXPECT_EQ(refused([&](StreamFiles& f) { f.resume = true; }), ErrorCode::kFileNotFound);
}

TEST(PlanStreamSession, FilesThatAreOneAreRefused) {
  const ScratchDirectory scratch;
  scratch.write("rows.jsonl", "rows");
  scratch.write("corpus/corpus.json", "{}");
  fs::create_symlink("rows.jsonl", scratch / "link");
  const auto refused_key = [&](const auto& change) {
    StreamFiles files = files_in(scratch);
    change(files);
    const Status status = check_stream_files(files);
    if (status.ok()) return std::string();
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    return status.error().where.key;
  };
  const std::string rows = scratch / "rows.jsonl";
  EXPECT_EQ(refused_key([](StreamFiles&) {}), "");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.out = rows; }), "out");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.out = scratch / "link"; }), "out");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.rejected = rows; }), "rejected");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.state = scratch.path(); }), "out");
  EXPECT_EQ(refused_key([&](StreamFiles& f) {
              f.state = scratch / "corpus";
              f.inputs = {scratch / "corpus"};
            }),
            "state");
  EXPECT_EQ(refused_key([&](StreamFiles& f) {
              f.inputs = {scratch / "corpus"};
              f.out = scratch / "corpus/tokens.npy";
            }),
            "out");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.inputs.push_back(f.rejected); }), "rejected");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.rejected = f.out; }), "rejected");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.rejected = f.out = "-"; }), "rejected");
  EXPECT_EQ(refused_key([&](StreamFiles& f) { f.rejected = f.out = "/dev/null"; }), "");
}

}  // namespace
}  // namespace omnibal::plan
