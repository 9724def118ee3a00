// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "omnibal/base/ascii.h"
#include "omnibal/base/name_table.h"
#include "omnibal/base/nearest_name.h"

namespace omnibal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BaseAscii, LowersLettersAndNothingElse) {
  EXPECT_EQ(lower_ascii("InternVL2-26B [\\]^_`@Z{"), "internvl2-26b [\\]^_`@z{");
  EXPECT_EQ(lower_ascii("\xc3\x84"), "\xc3\x84");  // a capital letter of another alphabet
  EXPECT_EQ(lower_ascii(""), "");
}

TEST(BaseNearestName, PrefersANameThatStartsAsTyped) {
  const std::vector<std::string> clusters = {"a100-80g", "h100-80g", "h200"};
  EXPECT_EQ(nearest_name("a100", clusters), "a100-80g");  // "h200" is nearer by edits
  EXPECT_EQ(nearest_name("H", clusters), "h200");         // the nearer of two that start so
}

TEST(BaseNearestName, ElseTheLeastEditDistanceInAnyCase) {
  const std::vector<std::string> names = {"plan", "pack", "Verify"};
  EXPECT_EQ(nearest_name("pakc", names), "pack");
  EXPECT_EQ(nearest_name("VERIFI", names), "Verify");
  EXPECT_EQ(nearest_name("paxx", names), "pack");
  EXPECT_EQ(nearest_name("pzzz", names), "plan");  // the first of equals
  EXPECT_EQ(nearest_name("pack", {}), "");
}

enum class Fruit { kApple, kPear, kQuince };
constexpr std::array kFruits = {Named{Fruit::kPear, "pear"}, Named{Fruit::kApple, "apple"}};

TEST(BaseNameTable, GivesNamesBackAsValues) {
  EXPECT_THAT(names_in(kFruits), ElementsAre("pear", "apple"));
  EXPECT_EQ(name_in(kFruits, Fruit::kApple), "apple");
  EXPECT_EQ(name_in(kFruits, Fruit::kQuince), "");
  EXPECT_EQ(*parse_name(kFruits, "fruit", "fruit", "pear"), Fruit::kPear);
}

TEST(BaseNameTable, AnUnknownNameIsToldAllAndTheNearest) {
  const auto fruit = parse_name(kFruits, "fruit", "basket", "aple");
  ASSERT_FALSE(fruit.ok());
  EXPECT_EQ(fruit.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fruit.error().message, "there is no fruit \"aple\"; the nearest is \"apple\"");
  EXPECT_EQ(fruit.error().where.key, "basket");
  EXPECT_EQ(std::get<std::string>(fruit.error().value), "aple");
  EXPECT_THAT(fruit.error().hint, HasSubstr("pear, apple"));
  EXPECT_FALSE(parse_name(kFruits, "fruit", "basket", "Pear").ok());
}

}  // namespace
}  // namespace omnibal
