// SPDX-License-Identifier: Apache-2.0
//
// exp and log from additions, multiplications and divisions alone, so that a value computed from
// them is the same bit for bit on every IEEE 754 machine (libm's differ in the last place).
// Relative error below 1e-15 (log: of the result, except within 1e-8 of 1, where it is absolute).
//
//   portable_exp(1);                     // 2.718281828459045, on any machine
//   portable_log(portable_exp(0.5));     // 0.5 to the last places
//   std::sqrt(x);                        // as good as it is: IEEE 754 rounds it correctly
//
// Not for reporting, where no decision hangs on the last bit: libm's are faster.
#pragma once

namespace omnibal {

/// e^x for |x| <= 700.
double portable_exp(double x);

/// Natural logarithm of a normal positive number.
double portable_log(double x);

}  // namespace omnibal
