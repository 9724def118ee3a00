// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/quantity.h"

#include <gtest/gtest.h>

namespace omnibal {
namespace {

TEST(BaseQuantity, ReadsBytesWithDecimalAndBinaryUnits) {
  EXPECT_EQ(*parse_bytes("1024"), 1024);
  EXPECT_EQ(*parse_bytes("0"), 0);
  EXPECT_EQ(*parse_bytes("7B"), 7);
  EXPECT_EQ(*parse_bytes("70GB"), 70'000'000'000);
  EXPECT_EQ(*parse_bytes("70GiB"), 70LL << 30);
  EXPECT_EQ(*parse_bytes("80 GiB"), 80LL << 30);
  EXPECT_EQ(*parse_bytes("1.5MiB"), 3LL << 19);
  EXPECT_EQ(*parse_bytes("2kB"), 2000);
  EXPECT_EQ(*parse_bytes("1TiB"), 1LL << 40);
}

TEST(BaseQuantity, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GB", "-1", "-1GB", "1XB", "1 G B", "nan", "inf", "1e30TB", "1GB2",
                           "0x10", "1,5GB", "9223372036854775808"}) {
    const Result<std::int64_t> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(std::get<std::string>(parsed.error().value), text);
  }
}

TEST(BaseQuantity, FormatsBytesAndSeconds) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(74'600'000'000), "74.6 GB");
  EXPECT_EQ(format_bytes(-1'500'000), "-1.5 MB");
  EXPECT_EQ(format_seconds(1.35), "1.35 s");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(0.0000123), "12.3 us");
  EXPECT_EQ(format_seconds(8040), "2 h 14 min");
  EXPECT_EQ(format_seconds(600), "10 min");
}

}  // namespace
}  // namespace omnibal
