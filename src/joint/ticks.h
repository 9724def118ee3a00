// SPDX-License-Identifier: Apache-2.0
//
// Ticks: seconds as whole numbers, so that sums do not depend on their order, equal layers stay
// equal and a bisection ends.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace omnibal::joint {

using Ticks = std::int64_t;

/// More than any sum of ticks; adding two of them does not overflow.
inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

/// A tick is a power of two of a second: the finest at which `micro_batches` times the whole model
/// stay below kNever. Layers are rounded by at most half a tick: 2^-60 x micro_batches of the
/// whole.
class TickScale {
 public:
  TickScale(double total_s, std::int32_t micro_batches) {
    int exponent = 0;
    std::frexp(total_s * (static_cast<double>(micro_batches) + 4), &exponent);
    shift_ = 60 - exponent;
  }
  Ticks ticks(double seconds) const { return std::llround(std::ldexp(seconds, shift_)); }
  double seconds(Ticks ticks) const { return std::ldexp(static_cast<double>(ticks), -shift_); }

 private:
  int shift_ = 0;
};

}  // namespace omnibal::joint
