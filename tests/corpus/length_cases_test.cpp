// SPDX-License-Identifier: Apache-2.0
//
// Runs tests/cases/lengths.json: input -> expected, a test a case. A case has
//   id, content (of one file) or files {name: text}, optional inputs [name or source=name],
//   input (name of the one file), encoding "latin-1" (of content),
//   options {strict, dummy, weights[] "source=number", temperature, epoch_samples},
//   expected {samples, text_only, sources[], columns{}, supervised[], vision{}, dummy_vision{},
//             tokens{}, lint {kind: {count, severity, example}}, lint_order[]}
//   or expected {error {code, message (part of it), file, row, key, value, limit}}.
#include <gmock/gmock.h>

#include <map>

#include "codec/scratch_directory.h"
#include "data_paths.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/corpus/stats.h"

namespace omnibal::corpus {
namespace {

using codec::Json;

std::vector<Json> load_cases() {
  const Result<Json> cases = codec::read_json(case_file("lengths.json"));
  if (!cases.ok()) return {};
  return {cases->begin(), cases->end()};
}

std::string latin1(const std::string& utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const bool two = (utf8[i] & 0xe0) == 0xc0;
    bytes += two ? static_cast<char>((utf8[i] & 0x03) << 6 | (utf8[i + 1] & 0x3f)) : utf8[i];
    i += two ? 1 : 0;
  }
  return bytes;
}

/// Writes the files of a case; its inputs.
std::vector<Input> prepare(const Json& test, const ScratchDirectory& scratch) {
  std::vector<std::string> names = {test.value("input", "input.json")};
  if (test.contains("content")) {
    const std::string content = test["content"].get<std::string>();
    scratch.write(names[0], test.contains("encoding") ? latin1(content) : content);
  }
  const Json files = test.value("files", Json::object());
  for (const auto& [name, text] : files.items()) {
    scratch.write(name, text.get<std::string>());
  }
  if (test.contains("inputs")) names = test["inputs"].get<std::vector<std::string>>();
  std::vector<Input> inputs;
  for (const std::string& name : names) {
    inputs.push_back(parse_input(name));
    inputs.back().path = scratch / inputs.back().path;
  }
  return inputs;
}

Json to_json(const ErrorValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

void expect_error(const Error& error, const Json& expected, const ScratchDirectory& scratch) {
  EXPECT_EQ(error_code_info(error.code).name, expected["code"].get<std::string>());
  std::string message = error.message;
  while (message.find(scratch / "") != std::string::npos) {
    message.erase(message.find(scratch / ""), (scratch / "").size());
  }
  EXPECT_THAT(message, testing::HasSubstr(expected.value("message", "")));
  if (error.code != ErrorCode::kInvalidArgument) {
    EXPECT_NE(error.where.file, "") << "every error of an input names its file";
  }
  if (expected.contains("file")) {
    EXPECT_EQ(error.where.file, scratch / expected["file"].get<std::string>());
  }
  if (expected.contains("row")) {
    EXPECT_EQ(error.where.row, expected["row"].get<std::int64_t>());
  }
  if (expected.contains("key")) {
    EXPECT_EQ(error.where.key, expected["key"].get<std::string>());
  }
  if (expected.contains("value")) {
    EXPECT_EQ(to_json(error.value), expected["value"]);
  }
  if (expected.contains("limit")) {
    EXPECT_EQ(to_json(error.limit), expected["limit"]);
  }
}

/// Every member of `expected` is in `actual`, and equal.
void expect_members(const Json& actual, const Json& expected, const std::string& what) {
  for (const auto& [key, value] : expected.items()) {
    EXPECT_EQ(actual.value(key, Json("absent")), value) << what << "." << key;
  }
}

Json summary_json(const ColumnSummary& column) {
  return {{"total", column.total}, {"mean", column.mean}, {"std", column.std}, {"min", column.min},
          {"p50", column.p50},     {"p95", column.p95},   {"p99", column.p99}, {"max", column.max}};
}

void expect_numbers(const Corpus& corpus, const Json& expected) {
  const CorpusStats stats = corpus_stats(corpus);
  const Json actual = {{"samples", stats.samples}, {"text_only", stats.text_only}};
  for (const auto& [key, value] : actual.items())
    EXPECT_EQ(expected.value(key, value), value) << key;
  expect_members(summary_json(stats.vision), expected.value("vision", Json::object()), "vision");
  expect_members(summary_json(stats.tokens), expected.value("tokens", Json::object()), "tokens");
  expect_members(summary_json(stats.dummy_vision), expected.value("dummy_vision", Json::object()),
                 "dummy_vision");
  const Json columns = {{"vision", corpus.vision}, {"dummy_vision", corpus.dummy_vision},
                        {"tokens", corpus.tokens}, {"supervised", corpus.supervised},
                        {"source", corpus.source}, {"row", corpus.row}};
  expect_members(columns, expected.value("columns", Json::object()), "columns");
  if (expected.contains("supervised")) {
    EXPECT_EQ(Json(corpus.supervised), expected["supervised"]);
  }
}

void expect_sources(const Corpus& corpus, const Json& expected) {
  ASSERT_EQ(corpus.sources.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Source& source = corpus.sources[i];
    const Json actual = {{"name", source.name},     {"samples", source.num_samples},
                         {"weight", source.weight}, {"repeat", source.repeat},
                         {"given", source.given()}, {"left_out", source.left_out}};
    expect_members(actual, expected[i], "sources");
  }
}

void expect_lint(const std::vector<Finding>& findings, const Json& expected,
                 const ScratchDirectory& scratch) {
  EXPECT_EQ(findings.size(), expected.size());
  for (const Finding& finding : findings) {
    ASSERT_TRUE(expected.contains(finding.kind)) << finding.kind;
    const bool local = finding.example.starts_with(scratch / "");
    const Json actual = {
        {"severity", finding.severity == Severity::kError ? "error" : "warning"},
        {"count", finding.count},
        {"example", local ? finding.example.substr((scratch / "").size()) : finding.example}};
    expect_members(actual, expected[finding.kind], finding.kind);
  }
}

ReadOptions options_of(const Json& test) {
  const Json options = test.value("options", Json::object());
  ReadOptions how{.add_dummy = options.value("dummy", false),
                  .strict = options.value("strict", false)};
  for (const Json& text : options.value("weights", Json::array())) {
    how.mixture.weights.push_back(*parse_source_weight(text.get<std::string>()));
  }
  if (options.contains("temperature")) {
    how.mixture.temperature = options["temperature"].get<double>();
  }
  if (options.contains("epoch_samples")) {
    how.mixture.epoch_samples = options["epoch_samples"].get<std::int64_t>();
  }
  return how;
}

class LengthCase : public testing::TestWithParam<Json> {};

TEST_P(LengthCase, GivesWhatIsExpected) {
  const Json& test = GetParam();
  SCOPED_TRACE(test["id"].get<std::string>());
  const ScratchDirectory scratch;
  const std::vector<Input> inputs = prepare(test, scratch);
  const Result<LoadedCorpus> loaded = read_corpus(inputs, options_of(test), {});
  const Json& expected = test["expected"];
  if (expected.contains("error")) {
    ASSERT_FALSE(loaded.ok()) << "was accepted";
    return expect_error(loaded.error(), expected["error"], scratch);
  }
  ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
  expect_numbers(loaded->corpus, expected);
  if (expected.contains("sources")) expect_sources(loaded->corpus, expected["sources"]);
  if (expected.contains("lint")) expect_lint(loaded->findings, expected["lint"], scratch);
  std::vector<std::string> kinds;
  for (const Finding& finding : loaded->findings) kinds.push_back(finding.kind);
  if (expected.contains("lint_order")) {
    EXPECT_EQ(Json(kinds), expected["lint_order"]);
  }
}

std::string test_name(const testing::TestParamInfo<Json>& info) {
  std::string name = std::to_string(info.index) + "_";
  for (const char symbol : info.param["id"].get<std::string>()) {
    name += std::isalnum(static_cast<unsigned char>(symbol)) != 0 ? symbol : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Corpus, LengthCase, testing::ValuesIn(load_cases()), test_name);

TEST(CorpusLengthCases, AreThere) { EXPECT_GT(load_cases().size(), 80U); }

}  // namespace
}  // namespace omnibal::corpus
