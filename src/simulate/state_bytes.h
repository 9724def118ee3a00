// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a parameter in mixed precision (arXiv 1910.02054, section 3.1).
#pragma once

namespace omnibal::simulate {

inline constexpr double kWeightBytes = 2;        // bf16
inline constexpr double kFp32GradientBytes = 4;  // as a pipeline sums it over micro-batches
inline constexpr double kBf16GradientBytes = 2;  // as ZeRO-3 sums it over ranks
/// Moved by the optimizer: gradient 4 read, master weight and two moments 12 read and 12 written,
/// bf16 weight 2 written.
inline constexpr double kUpdateBytes = 30;

}  // namespace omnibal::simulate
