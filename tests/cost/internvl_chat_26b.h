// SPDX-License-Identifier: Apache-2.0
//
// The paper's model in the tests of its costs: the rate that turns seconds into FLOPs, and where
// its layers stand.
#pragma once

#include <cstddef>

namespace omnibal::cost {

inline constexpr double kRate = 163e12;  // FLOP/s of `a100-80g`
inline constexpr std::size_t kProjector = 45, kEmbedding = 46, kLlm = 47, kHead = 95;

}  // namespace omnibal::cost
