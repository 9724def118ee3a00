// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "omnibal/cost/analytic.h"

namespace omnibal::cost {

/// Fractions of a block's attention that one device of a tensor-parallel group computes and keeps.
struct AttentionShares {
  double query = 1;    // query heads: query and output projections, scores
  double kv = 1;       // key-value heads
  double outside = 1;  // what is split by tokens around attention (sequence parallelism)
};

/// Heads that do not divide by tp are replicated, or zero heads fill up the last device. Fewer
/// key-value heads than devices: each device holds the one it needs.
AttentionShares attention_shares(std::int64_t num_heads, std::int64_t num_kv_heads, std::int64_t tp,
                                 HeadPolicy policy);

}  // namespace omnibal::cost
