// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/portable_math.h"

#include <bit>
#include <cstdint>

namespace omnibal {
namespace {

constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 33 bits: k * kLn2High is exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kSqrtHalf = 0.70710678118654752440;

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace

double portable_exp(double x) {
  const double scaled = x * 1.4426950408889634074;
  const int k = static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= ln(2) / 2
  double sum = 1;
  for (int n = 17; n >= 1; --n) sum = 1 + sum * r / n;
  return sum * power_of_two(k);
}

double portable_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  double mantissa =
      std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3fe0000000000000ULL);  // [0.5, 1)
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    exponent -= 1;
  }
  // log(m) = 2 artanh((m - 1) / (m + 1)), |argument| < 0.1716.
  const double t = (mantissa - 1) / (mantissa + 1);
  const double square = t * t;
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2) sum = 1.0 / n + sum * square;
  return exponent * kLn2High + (exponent * kLn2Low + 2 * t * sum);
}

}  // namespace omnibal
