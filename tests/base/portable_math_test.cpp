// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "omnibal/base/philox.h"

namespace omnibal {
namespace {

constexpr double kTolerance = 1e-15;

double relative_error(double value, long double exact) {
  return static_cast<double>(std::fabs((static_cast<long double>(value) - exact) / exact));
}

TEST(BasePortableMath, ExpAgreesWithLibm) {
  PhiloxRng rng(0, RngStream::kTest);
  for (int i = 0; i < 50'000; ++i) {
    const double x = (rng.uniform() - 0.5) * (i % 2 == 0 ? 1400 : 4);
    ASSERT_LT(relative_error(portable_exp(x), std::exp(static_cast<long double>(x))), kTolerance)
        << x;
  }
  EXPECT_EQ(portable_exp(0), 1);
}

TEST(BasePortableMath, LogAgreesWithLibm) {
  PhiloxRng rng(1, RngStream::kTest);
  for (int i = 0; i < 50'000; ++i) {
    // Any normal positive number, and numbers around 1.
    const double x =
        i % 2 == 0 ? std::bit_cast<double>(rng.next_u64() % 0x7fe0000000000000 + 0x0010000000000000)
                   : 0.5 + rng.uniform();
    const long double exact = std::log(static_cast<long double>(x));
    if (std::fabs(x - 1) < 1e-8) continue;
    ASSERT_LT(relative_error(portable_log(x), exact), kTolerance) << x;
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_NEAR(portable_log(1 + 1e-9), std::log1p(1e-9), kTolerance);
}

// The same bits on every machine: a change here changes every synthetic corpus.
TEST(BasePortableMath, GoldenBits) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(portable_exp(1)), 0x4005bf0a8b14576aULL);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(portable_log(10)), 0x40026bb1bbb55516ULL);
}

}  // namespace
}  // namespace omnibal
