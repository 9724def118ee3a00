// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/error_json.h"

#include <gtest/gtest.h>

namespace omnibal::codec {
namespace {

TEST(ErrorJson, IsReadBackWhole) {
  const Error error = Error(ErrorCode::kTokenCapExceeded, "sample 3 is too long")
                          .in_file("a.json")
                          .at_row(3)
                          .at_key("token_num")
                          .with_value(std::int64_t{5000})
                          .with_limit(4096.5)
                          .with_hint("raise the cap");
  const auto found = error_of(error_json(error));
  ASSERT_TRUE(found);
  EXPECT_EQ(error_json(*found), error_json(error));
  EXPECT_EQ(found->code, ErrorCode::kTokenCapExceeded);
  EXPECT_EQ(found->where.row, 3);
  EXPECT_EQ(found->limit, ErrorValue(4096.5));
}

TEST(ErrorJson, WhatIsMissingStaysSo) {
  const auto found = error_of(error_json(Error(ErrorCode::kInternal, "no more")));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->where.row);
  EXPECT_EQ(found->value, ErrorValue());
  EXPECT_TRUE(found->hint.empty());
}

TEST(ErrorJson, OtherFormsAreNoErrors) {
  EXPECT_FALSE(error_of(Json(3)));
  EXPECT_FALSE(error_of(Json{{"error", 3}}));
  EXPECT_FALSE(error_of(Json{{"error", {{"code", "no_such_code"}}}}));
}

}  // namespace
}  // namespace omnibal::codec
