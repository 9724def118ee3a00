// SPDX-License-Identifier: Apache-2.0
//
// tests/cases/profiles.json: profile files, good and bad, and what reading them must say.
#include <gmock/gmock.h>

#include "data_paths.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cost {
namespace {

using codec::Json;
using ::testing::HasSubstr;

void expect_error(const Result<Profile>& profile, const Json& expect) {
  ASSERT_FALSE(profile.ok()) << "was accepted";
  const Error& error = profile.error();
  EXPECT_EQ(error_code_info(error.code).name, expect["error"].get<std::string>()) << to_text(error);
  EXPECT_EQ(error.where.key, expect["key"].get<std::string>());
  EXPECT_EQ(error.where.file, "profile.json");
  EXPECT_THAT(error.message, HasSubstr(expect["message"].get<std::string>()));
  EXPECT_EQ(error_code_info(error.code).exit_code, 3);
}

TEST(ProfileCases, ReadAsExpected) {
  const Result<Json> cases = codec::read_json(case_file("profiles.json"));
  ASSERT_TRUE(cases.ok());
  ASSERT_GT(cases->size(), 30u);
  for (const Json& one : *cases) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const std::string text =
        one.contains("text") ? one["text"].get<std::string>() : one["profile"].dump();
    const Result<Profile> profile = parse_profile(text, "profile.json");
    const Json& expect = one["expect"];
    if (expect.contains("error")) {
      expect_error(profile, expect);
    } else {
      ASSERT_TRUE(profile.ok()) << to_text(profile.error());
      EXPECT_EQ(profile->layers.size(), expect["layers"].get<std::size_t>());
    }
  }
}

}  // namespace
}  // namespace omnibal::cost
