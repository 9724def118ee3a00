// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/toml.h"

#include <gmock/gmock.h>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

TEST(CodecToml, BecomesTheSameTreeAsJson) {
  const Result<Json> parsed = parse_toml(
      "name = \"x\"\nreal = 1.5\nwhole = 7\nyes = true\nlist = [1, 2]\n[table]\nkey = 1\n"
      "[[part]]\na = 1\n[[part]]\na = 2\n",
      "a.toml");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)["name"], "x");
  EXPECT_EQ((*parsed)["real"], 1.5);
  EXPECT_EQ((*parsed)["whole"], 7);
  EXPECT_EQ((*parsed)["yes"], true);
  EXPECT_EQ((*parsed)["list"], Json({1, 2}));
  EXPECT_EQ((*parsed)["table"]["key"], 1);
  EXPECT_EQ((*parsed)["part"][1]["a"], 2);
}

TEST(CodecToml, SaysTheLineOfAMistake) {
  const Error error = parse_toml("a = 1\nb = \n", "a.toml").error();
  EXPECT_EQ(error.code, ErrorCode::kMalformedToml);
  EXPECT_EQ(error.where.file, "a.toml");
  EXPECT_THAT(error.message, testing::HasSubstr("line 2"));
}

TEST(CodecToml, RefusesKeysGivenTwiceAndDates) {
  EXPECT_EQ(parse_toml("a = 1\na = 2\n", "a.toml").error().code, ErrorCode::kMalformedToml);
  const Error date = parse_toml("x = 1\na = 2024-01-01\n", "a.toml").error();
  EXPECT_EQ(date.code, ErrorCode::kMalformedToml);
  EXPECT_THAT(date.message, testing::HasSubstr("line 2"));
}

TEST(CodecToml, DeepNestingIsAnErrorNotACrash) {
  const std::string text = "a = " + std::string(100'000, '[');
  EXPECT_EQ(parse_toml(text, "a.toml").error().code, ErrorCode::kMalformedToml);
}

TEST(CodecToml, EveryCutOfADocumentIsHandled) {
  const std::string text = "a = [1, 2.5]\n[t]\nb = \"c\"\n[[p]]\nd = { e = true }\n";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const Result<Json> parsed = parse_toml(text.substr(0, length), "a.toml");
    EXPECT_TRUE(parsed.ok() || parsed.error().code == ErrorCode::kMalformedToml) << length;
  }
}

TEST(CodecToml, ReadsFiles) {
  const ScratchDirectory scratch;
  EXPECT_EQ((*read_toml(scratch.write("a.toml", "a = 1")))["a"], 1);
  EXPECT_EQ(read_toml(scratch / "b.toml").error().code, ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace omnibal::codec
