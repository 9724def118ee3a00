// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/json.h"

#include <gmock/gmock.h>

#include <array>
#include <limits>
#include <span>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

using testing::HasSubstr;

Error error_of(std::string_view text) {
  const Result<Json> parsed = parse_json(text, "a.json");
  if (parsed.ok()) return {ErrorCode::kInternal, "was accepted"};
  return parsed.error();
}

TEST(CodecJson, ReadsEveryKindOfValueInTheOrderOfTheFile) {
  const Result<Json> parsed = parse_json(
      R"({"z": [1, -2, 2.5, true, null, "ä\u00e4"], "a": {"b": {}, "c": []}})", "a.json");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->dump(), R"({"z":[1,-2,2.5,true,null,"ää"],"a":{"b":{},"c":[]}})");
}

TEST(CodecJson, ToleratesAByteOrderMark) {
  const Result<Json> parsed = parse_json("\xef\xbb\xbf{\"a\": 1}\r\n", "a.json");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)["a"].get<int>(), 1);
}

TEST(CodecJson, NamesAKeyThatStandsTwice) {
  const Error top = error_of(R"({"a": 1, "b": 2, "a": 3})");
  EXPECT_EQ(top.code, ErrorCode::kDuplicateKey);
  EXPECT_EQ(top.where.key, "a");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(top.value));
  const Error inner = error_of(R"({"x": [{"y": {"a": 1, "a": 1}}]})");
  EXPECT_EQ(inner.code, ErrorCode::kDuplicateKey);
  EXPECT_EQ(std::get<std::string>(inner.value), "x[0].y");
}

TEST(CodecJson, SaysLineAndColumnOfMalformedText) {
  const Error error = error_of("{\n  \"a\": 1,\n  \"b\": x\n}");
  EXPECT_EQ(error.code, ErrorCode::kMalformedJson);
  EXPECT_EQ(error.where.file, "a.json");
  EXPECT_THAT(error.message, HasSubstr("line 3, column 8"));
}

TEST(CodecJson, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"{", "[1,]", "{} {}", "[NaN]", "[Infinity]", "[-Infinity]", "[1e999]", "[01]", "['a']",
        "{\"a\" 1}", "[\"\xff\"]", "[\"\xc0\xaf\"]", "[1] // no", "[\"\n\"]", "{\"a\":1,}",
        "tru"}) {
    EXPECT_EQ(error_of(text).code, ErrorCode::kMalformedJson) << text;
  }
}

TEST(CodecJson, RefusesDeepNestingWithoutRecursion) {
  const Error error = error_of(std::string(100'000, '['));
  EXPECT_EQ(error.code, ErrorCode::kMalformedJson);
  EXPECT_EQ(std::get<std::int64_t>(error.limit), 200);
  EXPECT_TRUE(parse_json(std::string(200, '[') + std::string(200, ']'), "a.json").ok());
  EXPECT_FALSE(parse_json(std::string(201, '[') + std::string(201, ']'), "a.json").ok());
}

TEST(CodecJson, CallsAnEmptyFileEmpty) {
  EXPECT_EQ(error_of("").code, ErrorCode::kEmptyInput);
  EXPECT_EQ(error_of(" \r\n").code, ErrorCode::kEmptyInput);
  EXPECT_EQ(error_of("\xef\xbb\xbf").code, ErrorCode::kEmptyInput);
}

TEST(CodecJson, EveryCutOfADocumentIsAnErrorNotACrash) {
  const std::string text = R"({"a": [1, {"b": "cd"}], "e": 1.5e3, "f": "\u00e4"})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_json(text.substr(0, length), "a.json").ok()) << length;
  }
}

TEST(CodecJson, WritesTextForPeopleThatReadsBackEqual) {
  const Json document = {
      {"name", "a\"b"},         {"cuts", {22, 44, 71}},
      {"third", 1.0 / 3},       {"big", std::numeric_limits<std::int64_t>::max()},
      {"empty", Json::array()}, {"stages", {{{"first_layer", 0}}}}};
  const std::string text = to_text(document);
  EXPECT_EQ(text,
            "{\n  \"name\": \"a\\\"b\",\n  \"cuts\": [22, 44, 71],\n"
            "  \"third\": 0.3333333333333333,\n  \"big\": 9223372036854775807,\n"
            "  \"empty\": [],\n  \"stages\": [\n    {\n      \"first_layer\": 0\n    }\n  ]\n}\n");
  const Result<Json> again = parse_json(text, "a.json");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, document);
}

TEST(CodecJson, WritesAFileNameThatIsNotUtf8WithoutThrowing) {
  EXPECT_EQ(to_text(Json("\xff.json")), "\"\xef\xbf\xbd.json\"\n");
}

TEST(CodecJson, FileRoundTrip) {
  const ScratchDirectory scratch;
  const Json document = {{"a", {1, 2}}};
  ASSERT_TRUE(write_json(scratch / "a.json", document).ok());
  const Result<Json> again = read_json(scratch / "a.json");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, document);
  EXPECT_EQ(read_json(scratch / "b.json").error().code, ErrorCode::kFileNotFound);
}

TEST(CodecJsonFields, NamesFileRowAndPathOfAProblem) {
  const Json object = {{"tokens", "100"}, {"count", -1}, {"real", 1.5}, {"huge", 1e20}};
  const JsonFields fields(object, "p.json", "layers[3]", 7);
  const Error type = fields.integer("tokens", 0, 10).error();
  EXPECT_EQ(type.code, ErrorCode::kWrongType);
  EXPECT_EQ(type.where.file, "p.json");
  EXPECT_EQ(type.where.row, 7);
  EXPECT_EQ(type.where.key, "layers[3].tokens");
  const Error range = fields.integer("count", 0, 10).error();
  EXPECT_EQ(range.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(std::get<std::int64_t>(range.value), -1);
  EXPECT_EQ(std::get<std::int64_t>(range.limit), 0);
  EXPECT_EQ(fields.integer("real", 0, 10).error().code, ErrorCode::kWrongType);
  EXPECT_EQ(fields.integer("absent", 0, 10).error().code, ErrorCode::kMissingKey);
  EXPECT_EQ(fields.number("huge", 0, 10).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(fields.text("count").error().code, ErrorCode::kWrongType);
  EXPECT_EQ(fields.array("count").error().code, ErrorCode::kWrongType);
}

TEST(CodecJsonFields, RefusesAWholeNumberBeyond63Bits) {
  const Result<Json> object = parse_json(R"({"a": 18446744073709551615})", "a.json");
  const Error error = JsonFields(*object, "a.json").integer("a", 0, INT64_MAX).error();
  EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(std::get<std::string>(error.value), "18446744073709551615");
}

TEST(CodecJsonFields, RefusesNumbersThatAreNotFinite) {
  const Json object = {{"a", std::numeric_limits<double>::quiet_NaN()},
                       {"b", std::numeric_limits<double>::infinity()}};
  const JsonFields fields(object, "a.toml");
  EXPECT_EQ(fields.number("a", 0, 1e308).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(fields.number("b", 0, std::numeric_limits<double>::infinity()).error().code,
            ErrorCode::kOutOfRange);
}

TEST(CodecJsonFields, FallsBackOnlyWhenTheKeyIsAbsent) {
  const Json object = {{"a", 5}, {"s", "x"}, {"t", true}, {"list", {1, 2}}};
  const JsonFields fields(object, "a.json");
  EXPECT_EQ(*fields.integer_or("a", 1, 0, 9), 5);
  EXPECT_EQ(*fields.integer_or("b", 1, 0, 9), 1);
  EXPECT_FALSE(fields.integer_or("s", 1, 0, 9).ok());
  EXPECT_EQ(*fields.number_or("a", 1.5, 0, 9), 5.0);
  EXPECT_EQ(*fields.number_or("b", 1.5, 0, 9), 1.5);
  EXPECT_TRUE(*fields.boolean_or("t", false));
  EXPECT_FALSE(fields.boolean_or("a", false).ok());
  EXPECT_EQ(*fields.text_or("s", "y"), "x");
  EXPECT_EQ(*fields.text_or("u", "y"), "y");
  EXPECT_THAT(*fields.integers("list", 0, 9), testing::ElementsAre(1, 2));
  EXPECT_EQ(fields.integers("list", 0, 1).error().where.key, "list[1]");
  const Json list = Json::array();
  EXPECT_EQ(JsonFields(list, "a.json").integer_or("a", 1, 0, 9).error().code,
            ErrorCode::kWrongType);
}

TEST(CodecJsonFields, OnlyNamesTheKeyNobodyKnows) {
  const Json object = {{"peak", 1}, {"paek", 2}};
  const Status status = JsonFields(object, "a.toml").only({"peak"});
  EXPECT_EQ(status.error().code, ErrorCode::kUnknownKey);
  EXPECT_EQ(status.error().where.key, "paek");
  EXPECT_TRUE(JsonFields(object, "a.toml").only({"peak", "paek"}).ok());
  constexpr std::array<std::string_view, 2> kTable = {"peak", "paek"};
  EXPECT_TRUE(JsonFields(object, "a.toml").only(kTable).ok());
  EXPECT_FALSE(JsonFields(object, "a.toml").only(std::span(kTable).first(1)).ok());
}

TEST(CodecJson, CheckFormatKnowsItsOwnAndRefusesNewer) {
  const auto check = [](const Json& document) {
    const Status status = check_format(document, "p.json", "omnibal.profile", 2);
    return status.ok() ? "ok" : error_code_info(status.error().code).name;
  };
  EXPECT_EQ(check({{"format", "omnibal.profile"}, {"version", 1}}), "ok");
  EXPECT_EQ(check({{"format", "omnibal.profile"}, {"version", 3}}), "unsupported_version");
  EXPECT_EQ(check({{"format", "omnibal.profile"}, {"version", 0}}), "out_of_range");
  EXPECT_EQ(check({{"format", "omnibal.plan"}, {"version", 1}}), "unknown_format");
  EXPECT_EQ(check({{"version", 1}}), "missing_key");
  EXPECT_EQ(check(Json::array()), "wrong_type");
}

}  // namespace
}  // namespace omnibal::codec
