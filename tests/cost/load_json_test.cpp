// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/load_json.h"

#include <gmock/gmock.h>

namespace omnibal::cost {
namespace {

using codec::Json;

Result<Load> read(const Json& json) {
  return read_load(codec::JsonFields(json, "loads.json", "[0]"));
}

Json load_json(const Json& vision_units, const Json& tokens, const Json& token_pairs) {
  return {{"vision_units", vision_units}, {"tokens", tokens}, {"token_pairs", token_pairs}};
}

TEST(ReadLoad, TakesTheLargestLoad) {
  const Result<Load> load = read(load_json(1e9, 1e9, 1e18));
  ASSERT_TRUE(load.ok()) << to_text(load.error());
  EXPECT_TRUE(is_allowed(*load));
  EXPECT_EQ(load->token_pairs, 1e18);
  EXPECT_TRUE(read(load_json(0, 0, 0)).ok());
}

TEST(ReadLoad, RefusesWhatIsLargerOrNegative) {
  for (const Json& json : {load_json(1.1e9, 1, 1), load_json(1, 1.1e9, 1), load_json(1, 1, 1.1e18),
                           load_json(-1, 1, 1), load_json(1, -1, 1), load_json(1, 1, -1)}) {
    const Result<Load> load = read(json);
    ASSERT_FALSE(load.ok()) << json.dump();
    EXPECT_EQ(load.error().code, ErrorCode::kOutOfRange);
  }
}

TEST(ReadLoad, NeedsAllThreeAndNothingElse) {
  EXPECT_EQ(read({{"vision_units", 1}, {"tokens", 1}}).error().code, ErrorCode::kMissingKey);
  EXPECT_EQ(read(load_json("9", 1, 1)).error().code, ErrorCode::kWrongType);
  Json more = load_json(1, 1, 1);
  more["pairs"] = 1;
  EXPECT_EQ(read(more).error().code, ErrorCode::kUnknownKey);
}

TEST(IsAllowed, RefusesWhatIsNoNumber) {
  EXPECT_FALSE(is_allowed({std::numeric_limits<double>::quiet_NaN(), 1, 1}));
  EXPECT_FALSE(is_allowed({1, std::numeric_limits<double>::infinity(), 1}));
  EXPECT_TRUE(is_allowed({}));
}

}  // namespace
}  // namespace omnibal::cost
