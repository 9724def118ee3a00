// SPDX-License-Identifier: Apache-2.0
//
// Caps for a user who gives none: the heuristic of the paper's authors.
//
//   OMNIBAL_ASSIGN(const PackLimits limits, paper_limits(samples, {}));
//   limits.vision_cap;    // 9 on InternVL-1.2M, at a token cap of 4096
//
// Not a search: it looks at two means, never at predicted time or memory.
#pragma once

#include <cstdint>
#include <optional>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

struct PaperLimitOptions {
  std::optional<std::int64_t> token_cap = std::nullopt;  // absent: 4096
  /// Absent: from the mean ratio of tokens to vision units.
  std::optional<std::int64_t> vision_cap = std::nullopt;
  std::int64_t micro_batch = 4;  // samples that a full pack of mean samples should hold
};

/// ratio = ((mean(tokens rounded up to 256) // max(mean vision units, 1) + 1) // 16) * 16, at
/// least 16; vision cap = token cap // ratio, at least 1. If neither cap is given both grow
/// together (+1 unit, +ratio tokens) until a pack of mean samples holds `micro_batch` of them.
/// O(samples). Errors: kNothingUsable (no sample), kNoFeasibleLimits (fewer samples than
/// `micro_batch`, or caps above kLargestCap would be needed).
Result<PackLimits> paper_limits(const metrics::SampleColumns& samples,
                                const PaperLimitOptions& options);

}  // namespace omnibal::pack
