// SPDX-License-Identifier: Apache-2.0
//
// Random lists through every form in which they may arrive, and random damage to them, judged by
// another parser.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/scratch_directory.h"
#include "omnibal/base/philox.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {
namespace {

using codec::Json;

struct Row {
  std::uint32_t vit_num = 0;
  std::uint32_t token_num = 0;
  bool has_image = false;
};

std::vector<Row> random_rows(PhiloxRng& rng) {
  std::vector<Row> rows(1 + rng.below(300));
  for (Row& row : rows) {
    const bool extreme = rng.below(20) == 0;
    row = {.vit_num = extreme ? rng.below(60'000) : rng.below(13),
           .token_num = extreme ? rng.below(INT32_MAX) : rng.below(5000),
           .has_image = rng.below(4) != 0};
  }
  return rows;
}

std::string blanks(PhiloxRng& rng) {
  std::string text;
  for (std::uint32_t i = rng.below(3); i > 0; --i) text += " \t\r\n"[rng.below(4)];
  return text;
}

/// {"vit_num": ...} with its keys in random order, other keys among them, and random white space.
std::string row_text(const Row& row, PhiloxRng& rng) {
  const char* flag_key = rng.below(2) == 0 ? "image_flags" : "image_flag";
  std::vector<std::string> members = {
      fmt::format("\"vit_num\":{}{}", blanks(rng), row.vit_num),
      fmt::format("\"token_num\":{}{}", blanks(rng), row.token_num),
      fmt::format("\"{}\":{}{}", flag_key, blanks(rng), row.has_image ? row.vit_num : 0)};
  if (rng.below(3) == 0) members.push_back(R"("id": "a\"}],")");
  if (rng.below(3) == 0) members.push_back(R"("x": [1.5, {"y": [true, null, {}]}, -3e2, ""])");
  shuffle(std::span(members), rng);
  std::string text = "{" + blanks(rng);
  for (std::size_t i = 0; i < members.size(); ++i) {
    text += (i > 0 ? "," : "") + blanks(rng) + members[i] + blanks(rng);
  }
  return text + "}";
}

std::string list_text(const std::vector<Row>& rows, PhiloxRng& rng) {
  std::string text = blanks(rng) + "[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += (i > 0 ? "," : "") + blanks(rng) + row_text(rows[i], rng) + blanks(rng);
  }
  return text + "]" + blanks(rng);
}

std::string lines_text(const std::vector<Row>& rows, PhiloxRng& rng) {
  std::string text = rng.below(2) == 0 ? "\xef\xbb\xbf" : "";
  for (const Row& row : rows) text += row_text(row, rng) + blanks(rng) + "\n" + blanks(rng);
  return text;
}

void expect_rows(const Result<LoadedCorpus>& loaded, const std::vector<Row>& rows) {
  ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
  const Corpus& corpus = loaded->corpus;
  ASSERT_EQ(corpus.tokens.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool real = rows[i].has_image && rows[i].vit_num > 0;
    ASSERT_EQ(corpus.vision[i], rows[i].vit_num);
    ASSERT_EQ(corpus.tokens[i], rows[i].token_num);
    ASSERT_EQ(corpus.dummy_vision[i], real ? 0 : rows[i].vit_num);
    const std::int64_t text =
        std::int64_t{rows[i].token_num} - (real ? 256 * std::int64_t{rows[i].vit_num} : 0);
    ASSERT_EQ(corpus.supervised[i], std::max<std::int64_t>(0, text));
    ASSERT_EQ(corpus.row[i], i);
  }
}

TEST(CorpusReadingProperty, EveryFormGivesTheSameSamples) {
  const ScratchDirectory scratch;
  for (std::uint32_t round = 0; round < 30; ++round) {
    PhiloxRng rng(7, RngStream::kTest, round);
    const std::vector<Row> rows = random_rows(rng);
    const std::string list = scratch.write("list.json", list_text(rows, rng));
    const std::string lines = scratch.write("lines.json", lines_text(rows, rng));
    const std::string wrapper =
        scratch.write("w.json", R"({"a": {"token_lengths": "lines.json", "repeat": 1}})");
    const Result<LoadedCorpus> first = read_corpus({{list, ""}}, {}, {});
    expect_rows(first, rows);
    expect_rows(read_corpus({{lines, ""}}, {}, {}), rows);
    expect_rows(read_corpus({{wrapper, ""}}, {}, {}), rows);
    ASSERT_TRUE(write_corpus(first->corpus, scratch / "corpus").ok());
    const Result<LoadedCorpus> again = read_corpus({{scratch / "corpus", ""}}, {}, {});
    expect_rows(again, rows);
    EXPECT_EQ(content_hash(again->corpus), content_hash(first->corpus));
    EXPECT_EQ(again->corpus.sources[0].hash, first->corpus.sources[0].hash);
  }
}

TEST(CorpusReadingProperty, RepeatsAreWholeCopiesAndNothingIsLost) {
  const ScratchDirectory scratch;
  for (std::uint32_t round = 0; round < 40; ++round) {
    PhiloxRng rng(8, RngStream::kTest, round);
    Json wrapper = Json::object();
    std::vector<std::uint32_t> expected;
    for (std::uint32_t d = 0; d < 1 + rng.below(5); ++d) {
      const std::vector<Row> rows = random_rows(rng);
      const std::string name = fmt::format("d{}", d);
      scratch.write(name + ".json", list_text(rows, rng));
      const std::uint32_t repeat = 1 + rng.below(3);
      wrapper[name] = {{"token_lengths", name + ".json"}, {"repeat", repeat}};
      for (std::uint32_t k = 0; k < repeat; ++k) {
        for (const Row& row : rows) expected.push_back(row.token_num);
      }
    }
    const std::string path = scratch.write("w.json", wrapper.dump());
    const Result<LoadedCorpus> loaded = read_corpus({{path, ""}}, {}, {});
    ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
    EXPECT_EQ(loaded->corpus.tokens, expected);
    std::int64_t counted = 0;
    for (const Source& source : loaded->corpus.sources) counted += source.num_samples;
    EXPECT_EQ(counted, loaded->corpus.size());
  }
}

std::string damaged(std::string text, PhiloxRng& rng) {
  constexpr std::string_view kSymbols = "{}[]\",:0123456789-+.eEtrufalsn\\/ \n\x01\x80\xff";
  for (std::uint32_t i = 1 + rng.below(3); i > 0; --i) {
    const std::size_t at = rng.below(static_cast<std::uint32_t>(text.size()));
    const char symbol = kSymbols[rng.below(kSymbols.size())];
    switch (rng.below(3)) {
      case 0:
        text[at] = symbol;
        break;
      case 1:
        text.insert(at, 1, symbol);
        break;
      default:
        text.erase(at, 1);
    }
  }
  return text;
}

// What another parser calls malformed is never accepted, and what is accepted has its values.
TEST(CorpusReadingProperty, DamagedListsAreJudgedAsByAnotherParser) {
  const ScratchDirectory scratch;
  int accepted = 0;
  int refused = 0;
  for (std::uint32_t round = 0; round < 6000; ++round) {
    PhiloxRng rng(9, RngStream::kTest, round);
    std::vector<Row> rows = random_rows(rng);
    rows.resize(std::min<std::size_t>(rows.size(), 2));
    const std::string text = damaged(list_text(rows, rng), rng);
    const Result<LoadedCorpus> loaded = read_corpus({{scratch.write("a.json", text), ""}}, {}, {});
    const Result<Json> other = codec::parse_json(text, "a.json");
    if (!loaded.ok()) {
      ++refused;
      const bool malformed = loaded.error().code == ErrorCode::kMalformedJson;
      if (malformed && other.ok() && other->is_array()) {
        ADD_FAILURE() << "valid JSON called malformed: " << text << to_text(loaded.error());
      }
      continue;
    }
    ++accepted;
    // JSON Lines are not JSON: damage may turn a list into one only by losing both brackets.
    ASSERT_TRUE(other.ok()) << "accepted: " << text << to_text(other.error());
    for (std::size_t i = 0; i < loaded->corpus.tokens.size(); ++i) {
      const Json& row = other->is_array() ? (*other)[i] : *other;
      ASSERT_EQ(row["token_num"].get<std::uint32_t>(), loaded->corpus.tokens[i]) << text;
      ASSERT_EQ(row["vit_num"].get<std::uint32_t>(), loaded->corpus.vision[i]) << text;
    }
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace omnibal::corpus
