// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "codec/scratch_directory.h"

namespace omnibal::corpus {
namespace {

/// Rows of weights around 1, some of them 0; row i has i + 1 tokens.
std::vector<std::string> weighted_lines(int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    const double weight = i % 7 == 3 ? 0 : 0.15 * (i % 19);
    lines.push_back(
        fmt::format(R"({{"vit_num": {}, "token_num": {}, "image_flags": 0, "weight": {}}})", i % 2,
                    i + 1, weight));
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines, std::size_t first = 0) {
  std::string text;
  for (std::size_t i = first; i < lines.size(); ++i) text += lines[i] + "\n";
  return text;
}

/// Without the names, which live only as long as the stream.
struct Taken {
  std::int64_t id = 0, row = 0;
  std::uint32_t tokens = 0;
  StreamPosition at, behind;

  friend bool operator==(const Taken&, const Taken&) = default;
};

std::vector<Taken> take_all(SampleStream& samples) {
  std::vector<Taken> taken;
  while (true) {
    const std::optional<StreamedSample> sample = *samples.next();
    if (!sample) return taken;
    taken.push_back({sample->id, sample->row, sample->tokens, sample->at, sample->behind});
    EXPECT_EQ(samples.position(), sample->behind);
  }
}

TEST(CorpusStream, ContinuedAtAnyPositionItGivesWhatWouldHaveFollowed) {
  const ScratchDirectory scratch;
  const std::vector<std::string> lines = weighted_lines(60);
  const ReadOptions options{.mixture = {.seed = 5}};
  SampleStream whole =
      *SampleStream::open({scratch.write("whole.jsonl", text_of(lines)), ""}, options, {});
  const std::vector<Taken> all = take_all(whole);
  EXPECT_EQ(whole.position().rows, 60);
  ASSERT_GT(all.size(), 60U);
  std::vector<int> times(60);
  for (const Taken& sample : all) {
    ++times[static_cast<std::size_t>(sample.id)];
    EXPECT_EQ(sample.tokens, static_cast<std::uint32_t>(sample.id + 1));
  }
  EXPECT_EQ(times[3], 0);
  for (std::size_t given = 0; given < all.size(); ++given) {
    const StreamPosition behind = given == 0 ? StreamPosition() : all[given - 1].behind;
    for (const StreamPosition& position : {behind, all[given].at}) {
      const std::string rest =
          scratch.write("rest.jsonl", text_of(lines, static_cast<std::size_t>(position.rows)));
      SampleStream samples = *SampleStream::open({rest, ""}, options, {});
      samples.continue_at(position);
      ASSERT_EQ(take_all(samples),
                std::vector<Taken>(all.begin() + static_cast<std::ptrdiff_t>(given), all.end()))
          << given;
    }
  }
}

TEST(CorpusStream, ARowThatCannotBeReadIsThePositionAndIsNamedInItsOwnFile) {
  const ScratchDirectory scratch;
  std::vector<std::string> lines = weighted_lines(12);
  lines[4] = "bad";  // behind a row that is wanted not once
  SampleStream samples =
      *SampleStream::open({scratch.write("rows.jsonl", text_of(lines)), ""}, {}, {});
  samples.continue_at({.rows = 100});
  while (true) {
    const auto sample = samples.next();
    if (sample.ok()) {
      ASSERT_TRUE(sample->has_value());
      EXPECT_EQ((*sample)->file, scratch / "rows.jsonl");
      EXPECT_EQ((*sample)->source, "rows");
      EXPECT_EQ((*sample)->row, (*sample)->file_row + 100);
      continue;
    }
    EXPECT_EQ(sample.error().where.file, scratch / "rows.jsonl");
    EXPECT_EQ(sample.error().where.row, 4);
    break;
  }
  EXPECT_EQ(samples.position().rows, 104);
  EXPECT_EQ(samples.position().copies, 0);
}

TEST(CorpusStream, OfAWrapperRowsAreThoseOfItsListsWhichAreFilesOfTheStream) {
  const ScratchDirectory scratch;
  const std::string row = R"({"vit_num": 1, "token_num": 300, "image_flags": 1})";
  scratch.write("a.json", "[" + row + "," + row + "]");
  scratch.write("b.json", "[" + row + "]");
  const std::string wrapper = scratch.write(
      "w.json",
      R"({"a": {"token_lengths": "a.json", "repeat": 2}, "b": {"token_lengths": "b.json"}})");
  SampleStream samples = *SampleStream::open({wrapper, ""}, {}, {});
  EXPECT_EQ(samples.files(),
            (std::vector<std::string>{wrapper, scratch / "a.json", scratch / "b.json"}));
  samples.continue_at({.rows = 10});
  const std::vector<Taken> taken = take_all(samples);
  ASSERT_EQ(taken.size(), 5U);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].id, static_cast<std::int64_t>(10 + i));
    EXPECT_EQ(taken[i].row, i < 4 ? i % 2 : 0);
  }
}

TEST(CorpusStream, APipeIsReadAndAnEmptyInputRefused) {
  const ScratchDirectory scratch;
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = text_of(weighted_lines(3000));
  std::thread writer([&] { std::ofstream(pipe) << text; });
  SampleStream samples = *SampleStream::open({pipe, ""}, {}, {});
  const std::vector<Taken> piped = take_all(samples);
  writer.join();
  SampleStream same = *SampleStream::open({scratch.write("a", text), ""}, {}, {});
  EXPECT_EQ(piped, take_all(same));
  EXPECT_EQ(SampleStream::open({scratch.write("b", "[ ]"), ""}, {}, {}).error().code,
            ErrorCode::kEmptyInput);
}

}  // namespace
}  // namespace omnibal::corpus
