// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "codec/scratch_directory.h"
#include "omnibal/codec/json.h"
#include "omnibal/codec/npy.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {
namespace {

using codec::Json;
using testing::HasSubstr;

Corpus small_corpus() {
  Corpus corpus;
  corpus.unit = {.name = "image-336", .vision_tokens = 577, .llm_tokens = 576};
  corpus.supervised_is_estimate = false;
  corpus.sources = {
      {.name = "a", .path = "a.json", .hash = "00ff", .num_samples = 2, .weight = 0.3},
      {.name = "b", .path = "", .hash = "", .num_samples = 1, .repeat = 1.5}};
  corpus.vision = {1, 5, 1};
  corpus.dummy_vision = {0, 0, 1};
  corpus.tokens = {700, 4000, 90};
  corpus.supervised = {100, 1000, 80};
  corpus.source = {0, 0, 1};
  corpus.row = {0, 1, 7};
  return corpus;
}

/// A corpus directory that a test may damage.
class CorpusDirectory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_corpus(small_corpus(), directory_).ok()); }

  Error error_of_reading() const {
    const Result<LoadedCorpus> loaded = read_corpus({{directory_, ""}}, {}, {});
    if (loaded.ok()) return {ErrorCode::kInternal, "was accepted"};
    return loaded.error();
  }

  template <class T>
  void replace_column(std::string_view name, std::vector<T> values) const {
    const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(values.size())};
    const std::span<const T> view = values;
    ASSERT_TRUE(codec::write_npy<T>(column(name), shape, view).ok());
  }

  std::string column(std::string_view name) const {
    return directory_ + "/" + std::string(name) + ".npy";
  }

  ScratchDirectory scratch_;
  std::string directory_ = scratch_ / "corpus";
};

TEST_F(CorpusDirectory, ReadsBackWhatWasWritten) {
  const Result<LoadedCorpus> loaded = read_corpus({{directory_, ""}}, {}, {});
  ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
  const Corpus expected = small_corpus();
  const Corpus& corpus = loaded->corpus;
  EXPECT_EQ(corpus.unit.name, "image-336");
  EXPECT_EQ(corpus.unit.vision_tokens, 577);
  EXPECT_EQ(corpus.unit.llm_tokens, 576);
  EXPECT_FALSE(corpus.supervised_is_estimate);
  ASSERT_EQ(corpus.sources.size(), 2U);
  EXPECT_EQ(corpus.sources[0].name, "a");
  EXPECT_EQ(corpus.sources[0].path, "a.json");
  EXPECT_EQ(corpus.sources[0].hash, "00ff");
  EXPECT_EQ(corpus.sources[0].weight, 0.3);
  EXPECT_EQ(corpus.sources[1].repeat, 1.5);
  EXPECT_EQ(corpus.vision, expected.vision);
  EXPECT_EQ(corpus.dummy_vision, expected.dummy_vision);
  EXPECT_EQ(corpus.tokens, expected.tokens);
  EXPECT_EQ(corpus.supervised, expected.supervised);
  EXPECT_EQ(corpus.source, expected.source);
  EXPECT_EQ(corpus.row, expected.row);
  ASSERT_EQ(loaded->inputs.size(), 1U);
  EXPECT_EQ(loaded->inputs[0].hash, content_hash(expected));
}

TEST_F(CorpusDirectory, KeepsTheProvenanceAsItIs) {
  const Json provenance = {{"tool", "x"}, {"seed", 7}};
  ASSERT_TRUE(write_corpus(small_corpus(), directory_, provenance).ok());
  EXPECT_EQ((*codec::read_json(directory_ + "/corpus.json"))["provenance"], provenance);
  ASSERT_TRUE(write_corpus(small_corpus(), directory_).ok());
  const Json written = (*codec::read_json(directory_ + "/corpus.json"))["provenance"];
  EXPECT_THAT(written["tool"].get<std::string>(), HasSubstr("omnibal"));
}

TEST_F(CorpusDirectory, NeverReplacesAFolderThatIsNoCorpus) {
  scratch_.write("photos/a.jpg", "x");
  EXPECT_EQ(write_corpus(small_corpus(), scratch_ / "photos").error().code,
            ErrorCode::kWouldOverwrite);
}

TEST_F(CorpusDirectory, TakesNamesAndJoinsOtherInputsOfItsUnit) {
  const std::string list =
      scratch_.write("list.json", R"([{"vit_num": 1, "token_num": 300, "image_flags": 1}])");
  const std::string other = scratch_ / "other";
  ASSERT_TRUE(write_corpus(small_corpus(), other).ok());
  const Result<LoadedCorpus> both = read_corpus({{directory_, "x"}, {other, "y"}}, {}, {});
  ASSERT_TRUE(both.ok()) << to_text(both.error());
  EXPECT_EQ(both->corpus.size(), 6);
  EXPECT_EQ(both->corpus.sources[0].name, "x/a");
  EXPECT_EQ(both->corpus.sources[3].name, "y/b");
  EXPECT_THAT(both->corpus.source, testing::ElementsAre(0, 0, 1, 2, 2, 3));
  EXPECT_EQ(read_corpus({{directory_, ""}, {other, ""}}, {}, {}).error().code,
            ErrorCode::kDuplicateName);
  const Error mixed = read_corpus({{directory_, ""}, {list, ""}}, {}, {}).error();
  EXPECT_EQ(mixed.code, ErrorCode::kConflictingKeys);
  EXPECT_THAT(mixed.message, HasSubstr("different vision units"));
}

TEST_F(CorpusDirectory, EveryFlippedByteOfDataIsNoticed) {
  for (const char* name : {"vision", "dummy_vision", "tokens", "supervised", "source", "row"}) {
    const std::string whole = content_of(column(name));
    for (std::size_t at = 128; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x01);
      scratch_.write("corpus/" + std::string(name) + ".npy", damaged);
      const ErrorCode code = error_of_reading().code;
      EXPECT_TRUE(code == ErrorCode::kChecksumMismatch || code == ErrorCode::kOutOfRange)
          << name << " " << at;
    }
    scratch_.write("corpus/" + std::string(name) + ".npy", whole);
  }
}

TEST_F(CorpusDirectory, ACutOffFileIsNoticed) {
  for (const char* file : {"corpus.json", "vision.npy", "row.npy"}) {
    const std::string name = "corpus/" + std::string(file);
    const std::string whole = content_of(scratch_ / name);
    // The last byte of corpus.json is a line break, which may be absent.
    const std::size_t step = whole.size() / 80;
    for (std::size_t length = 0; length + 1 < whole.size(); length += step) {
      scratch_.write(name, whole.substr(0, length));
      ASSERT_NE(error_of_reading().code, ErrorCode::kInternal) << file << " " << length;
    }
    scratch_.write(name, whole);
  }
}

TEST_F(CorpusDirectory, AMissingColumnIsNamed) {
  std::filesystem::remove(column("supervised"));
  const Error error = error_of_reading();
  EXPECT_EQ(error.code, ErrorCode::kFileNotFound);
  EXPECT_EQ(error.where.file, column("supervised"));
}

TEST_F(CorpusDirectory, AColumnOfAnotherLengthTypeOrShapeIsRefused) {
  replace_column<std::uint32_t>("tokens", {1, 2});
  EXPECT_THAT(error_of_reading().message, HasSubstr("not as long as corpus.json says"));
  replace_column<std::int64_t>("tokens", {700, 4000, 90});
  EXPECT_THAT(error_of_reading().message, HasSubstr("another type"));
}

TEST_F(CorpusDirectory, ImpossibleSamplesAreNamed) {
  const auto expect = [&](const char* name, std::int64_t row, const char* message) {
    const Error error = error_of_reading();
    EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
    EXPECT_EQ(error.where.file, column(name));
    EXPECT_EQ(error.where.row, row);
    EXPECT_THAT(error.message, HasSubstr(message));
    ASSERT_TRUE(write_corpus(small_corpus(), directory_).ok());
  };
  replace_column<std::uint32_t>("tokens", {700, 0x80000000U, 90});
  expect("tokens", 1, "sample 1: tokens is 2147483648");
  replace_column<std::uint32_t>("vision", {~0U, 5, 1});
  expect("vision", 0, "vision is 4294967295");
  replace_column<std::uint16_t>("dummy_vision", {0, 6, 1});
  expect("dummy_vision", 1, "dummy_vision is 6, at most 5");
  replace_column<std::uint32_t>("supervised", {100, 1000, 91});
  expect("supervised", 2, "supervised is 91, at most 90");
  replace_column<std::uint16_t>("source", {0, 0, 2});
  expect("source", 2, "source is 2, at most 1");
}

TEST_F(CorpusDirectory, CountsThatDisagreeAreRefused) {
  replace_column<std::uint16_t>("source", {0, 1, 1});
  EXPECT_THAT(error_of_reading().message, HasSubstr("another number of samples"));
}

TEST_F(CorpusDirectory, TheHeaderIsChecked) {
  const Json whole = *codec::read_json(directory_ + "/corpus.json");
  const auto code_after = [&](const std::function<void(Json&)>& change) {
    Json changed = whole;
    change(changed);
    scratch_.write("corpus/corpus.json", changed.dump());
    return error_code_info(error_of_reading().code).name;
  };
  EXPECT_EQ(code_after([](Json& h) { h["format"] = "omnibal.plan"; }), "unknown_format");
  EXPECT_EQ(code_after([](Json& h) { h["version"] = 2; }), "unsupported_version");
  EXPECT_EQ(code_after([](Json& h) { h["samples"] = 0; }), "empty_input");
  EXPECT_EQ(code_after([](Json& h) { h["samples"] = -3; }), "out_of_range");
  EXPECT_EQ(code_after([](Json& h) { h["samples"] = 4; }), "malformed_npy");
  EXPECT_EQ(code_after([](Json& h) { h["hash"] = "0"; }), "checksum_mismatch");
  EXPECT_EQ(code_after([](Json& h) { h.erase("unit"); }), "missing_key");
  EXPECT_EQ(code_after([](Json& h) { h["unit"]["llm_tokens"] = "256"; }), "wrong_type");
  EXPECT_EQ(code_after([](Json& h) { h["sources"] = Json::object(); }), "wrong_type");
  EXPECT_EQ(code_after([](Json& h) { h["sources"][1]["name"] = "a"; }), "duplicate_name");
  EXPECT_EQ(code_after([](Json& h) { h["sources"][0]["weight"] = -1; }), "out_of_range");
}

TEST(CorpusHash, DependsOnEveryColumnAndNothingElse) {
  const std::string hash = content_hash(small_corpus());
  Corpus renamed = small_corpus();
  renamed.sources[0].name = "z";
  EXPECT_EQ(content_hash(renamed), hash);
  Corpus other = small_corpus();
  other.row[2] = 8;
  EXPECT_NE(content_hash(other), hash);
  other = small_corpus();
  std::swap(other.vision, other.supervised);
  EXPECT_NE(content_hash(other), hash);
}

}  // namespace
}  // namespace omnibal::corpus
