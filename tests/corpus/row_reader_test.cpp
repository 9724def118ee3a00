// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "codec/scratch_directory.h"
#include "omnibal/codec/hash.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {
namespace {

constexpr const char* kRow = R"({"vit_num": 1, "token_num": 300, "image_flags": 1})";

Result<LoadedCorpus> read_rows(std::string_view text) {
  const ScratchDirectory scratch;
  return read_corpus({{scratch.write("a.json", text), ""}}, {}, {});
}

std::string row_with(const std::string& unknown_value) {
  return R"({"vit_num": 1, "token_num": 300, "image_flags": 1, "x": )" + unknown_value + "}";
}

TEST(CorpusRowReader, NestingAHundredThousandDeepIsAnError) {
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  for (const std::string& text : {open, open + close, "[" + row_with(open + close) + "]",
                                  row_with(open), std::string(100'000, '{')}) {
    const Result<LoadedCorpus> loaded = read_rows(text);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::kMalformedJson);
    EXPECT_THAT(loaded.error().message, testing::HasSubstr("nested too deeply"));
  }
  EXPECT_TRUE(read_rows(row_with(std::string(199, '[') + std::string(199, ']'))).ok());
}

TEST(CorpusRowReader, ARowWithoutEndIsRefusedBeforeItFillsTheMemory) {
  const std::string endless = R"([{"x": ")" + std::string(std::size_t{18} << 20, 'a');
  const Error error = read_rows(endless).error();
  EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(error.where.row, 0);
  EXPECT_EQ(std::get<std::int64_t>(error.limit), 16 << 20);
}

TEST(CorpusRowReader, RowsMayCrossTheWindowOfReadingAnywhere) {
  constexpr std::size_t kWindow = std::size_t{1} << 20;
  const std::string row = kRow;
  for (std::size_t shift = 0; shift <= row.size() + 2; shift += 9) {
    const std::string blanks(kWindow - row.size() - 1 + shift, ' ');
    const Result<LoadedCorpus> loaded = read_rows("[" + blanks + row + "," + row + "]");
    ASSERT_TRUE(loaded.ok()) << shift << to_text(loaded.error());
    EXPECT_EQ(loaded->corpus.size(), 2);
    EXPECT_EQ(read_rows(blanks + row + "\n" + row)->corpus.size(), 2) << shift;
  }
}

TEST(CorpusRowReader, ARowLongerThanTheWindowIsRead) {
  const std::string text = row_with("\"" + std::string(std::size_t{3} << 20, 'a') + "\"");
  EXPECT_EQ(read_rows("[" + text + "," + kRow + "]")->corpus.size(), 2);
  EXPECT_EQ(read_rows(text + "\n\n" + kRow)->corpus.size(), 2);
  EXPECT_EQ(read_rows(text)->corpus.size(), 1);
}

TEST(CorpusRowReader, HashIsThatOfTheFile) {
  const ScratchDirectory scratch;
  const std::string list = scratch.write("a.json", std::string("[") + kRow + "]  \n");
  const std::string wrapper = scratch.write("w.json", R"({"b": {"token_lengths": "a.json"}})");
  const Result<LoadedCorpus> loaded = read_corpus({{list, ""}, {wrapper, ""}}, {}, {});
  ASSERT_TRUE(loaded.ok());
  const std::string hash = *codec::hash_file(list);
  EXPECT_EQ(loaded->corpus.sources[0].hash, hash);
  ASSERT_EQ(loaded->inputs.size(), 3U);
  EXPECT_EQ(loaded->inputs[0].hash, hash);
  EXPECT_EQ(loaded->inputs[1].path, wrapper);
  EXPECT_EQ(loaded->inputs[1].hash, *codec::hash_file(wrapper));
  EXPECT_EQ(loaded->inputs[2].hash, hash);
}

TEST(CorpusRowReader, ReadsStandardInputOnce) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("a", std::string(kRow) + "\n" + kRow);
  const int kept = ::dup(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY);
  ::dup2(file, STDIN_FILENO);
  const Result<LoadedCorpus> loaded = read_corpus({{"-", ""}}, {}, {});
  ::dup2(kept, STDIN_FILENO);
  ::close(file);
  ::close(kept);
  ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
  EXPECT_EQ(loaded->corpus.size(), 2);
  EXPECT_EQ(loaded->corpus.sources[0].name, "stdin");
  EXPECT_EQ(read_corpus({{"-", ""}, {"-", "x"}}, {}, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(CorpusRowReader, ReportsHowFarItIs) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("a.json", std::string("[") + kRow + "]");
  std::int64_t done = 0;
  std::int64_t total = 0;
  const Progress progress = [&](std::string_view, std::int64_t d, std::int64_t t) {
    done = d;
    total = t;
  };
  ASSERT_TRUE(read_corpus({{path, ""}}, {}, progress).ok());
  EXPECT_EQ(done, static_cast<std::int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(total, done);
}

TEST(CorpusInput, NameAndPathArePartedAtTheFirstEqualsSignWithoutSlashBefore) {
  const auto parsed = [](const std::string& text) {
    const Input input = parse_input(text);
    return input.name + "|" + input.path;
  };
  EXPECT_EQ(parsed("a.json"), "|a.json");
  EXPECT_EQ(parsed("x=a.json"), "x|a.json");
  EXPECT_EQ(parsed("x=dir/a=b.json"), "x|dir/a=b.json");
  EXPECT_EQ(parsed("./a=b.json"), "|./a=b.json");
  EXPECT_EQ(parsed("=a.json"), "|=a.json");
  EXPECT_EQ(parsed("x=-"), "x|-");
  EXPECT_EQ(read_corpus({}, {}, {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace omnibal::corpus
