// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/error.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "omnibal/base/result.h"

namespace omnibal {
namespace {

constexpr int kNumCodes = static_cast<int>(ErrorCode::kInternal) + 1;

TEST(BaseError, EveryCodeHasItsOwnSnakeCaseNameAndAnExitCodeOfTheContract) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNumCodes; ++i) {
    const ErrorCodeInfo& info = error_code_info(static_cast<ErrorCode>(i));
    EXPECT_EQ(static_cast<int>(info.code), i);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_THAT(info.exit_code, testing::AnyOf(1, 2, 3, 4)) << info.name;
  }
}

TEST(BaseError, ExitCodesSayWhoseFaultItIs) {
  EXPECT_EQ(error_code_info(ErrorCode::kInvalidArgument).exit_code, 2);
  EXPECT_EQ(error_code_info(ErrorCode::kTokenCapExceeded).exit_code, 3);
  EXPECT_EQ(error_code_info(ErrorCode::kTokenCapExceeded).name, "token_cap_exceeded");
  EXPECT_EQ(error_code_info(ErrorCode::kMemoryInfeasible).exit_code, 4);
  EXPECT_EQ(error_code_info(ErrorCode::kWriteFailed).exit_code, 1);
}

TEST(BaseError, TextSaysWhatWhereValueLimitAndWhatNext) {
  const Error error = Error(ErrorCode::kTokenCapExceeded, "too many tokens")
                          .in_file("lengths.json")
                          .at_row(3)
                          .at_key("token_num")
                          .with_value(std::int64_t{5000})
                          .with_limit(std::int64_t{4096})
                          .with_hint("raise --token-cap");
  const std::string text = to_text(error);
  EXPECT_EQ(text,
            "error: too many tokens\n  where: lengths.json, row 3, key \"token_num\"\n"
            "  value: 5000\n  limit: 4096\n  next: raise --token-cap\n");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(BaseError, TextLeavesOutWhatIsNotKnown) {
  EXPECT_EQ(to_text(Error(ErrorCode::kInternal, "odd")), "error: odd\n");
  EXPECT_EQ(to_text(Error(ErrorCode::kInternal, "odd").with_value(0.5)),
            "error: odd\n  value: 0.5\n");
  EXPECT_EQ(to_text(Error(ErrorCode::kInternal, "odd").at_row(0)), "error: odd\n  where: row 0\n");
}

Result<int> half(int number) {
  if (number % 2 != 0) return Error(ErrorCode::kInvalidArgument, "odd");
  return number / 2;
}

Status check_quarter(int number, int expected) {
  OMNIBAL_ASSIGN(const int once, half(number));
  int twice = 0;
  OMNIBAL_ASSIGN(twice, half(once));
  if (twice != expected) return Error(ErrorCode::kInternal, "not the quarter");
  return {};
}

Result<std::string> quarter_checked(int number) {
  OMNIBAL_RETURN_IF_ERROR(check_quarter(number, number / 4));
  return std::string("yes");
}

TEST(BaseResult, CarriesAValueOrAnErrorThroughTheMacros) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_EQ(half(3).error().message, "odd");
  EXPECT_EQ(*quarter_checked(8), "yes");
  EXPECT_EQ(quarter_checked(6).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(check_quarter(8, 3).error().code, ErrorCode::kInternal);
  EXPECT_TRUE(check_quarter(8, 2).ok());
}

}  // namespace
}  // namespace omnibal
