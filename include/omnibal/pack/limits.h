// SPDX-License-Identifier: Apache-2.0
//
// Caps for a user who gives none: the heuristic of the paper's authors.
//
//   OMNIBAL_ASSIGN(const PackLimits limits, paper_limits(samples, {}));
//   limits.vision_cap;    // 9 on InternVL-1.2M, at a token cap of 4096
//   LimitRules{.rounds = 5}.at(9, 4096);   // caps, and everything else as asked
//
// Not for caps that predicted time and memory decide: plan/limit_search.h.
#pragma once

#include <cstdint>
#include <optional>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Everything of PackLimits but the caps, as far as a user gives it.
struct LimitRules {
  std::optional<std::int64_t> vision_floor = std::nullopt;  // absent: the paper's
  std::optional<std::int64_t> token_floor = std::nullopt;
  std::int64_t rounds = 50;
  std::optional<std::int64_t> max_samples = std::nullopt;  // absent: no limit
  /// Samples of 0 tokens are packed: an absent max_samples is then the token cap, since a pack
  /// could hold any number of them and of non-empty ones no more than that.
  bool allow_empty = false;
  std::int64_t token_multiple = 1;

  PackLimits at(std::int64_t vision_cap, std::int64_t token_cap) const;
};

struct PaperLimitOptions {
  std::optional<std::int64_t> token_cap = std::nullopt;  // absent: 4096
  /// Absent: from the mean ratio of tokens to vision units.
  std::optional<std::int64_t> vision_cap = std::nullopt;
  std::int64_t micro_batch = 4;  // samples that a pack should hold
  LimitRules rules = {};
  std::uint64_t seed = 0;
};

/// ratio = ((mean(tokens rounded up to 256) // max(mean vision units, 1) + 1) // 16) * 16, at
/// least 16; vision cap = token cap // ratio, at least 1. If neither cap is given both grow
/// together (+1 unit, +ratio tokens) until ISF makes packs of `micro_batch` samples, the last
/// aside: no more packs than ceil(samples / micro_batch).
///
/// Always ends: growth starts where mean samples first allow it (below, no packing could) and
/// stops at the latest where `micro_batch` of the largest samples fit; the pair between is found
/// by doubling and bisection, O(log) packings. The pair before the one found holds fewer; where
/// more room for once means worse packs, a smaller pair may do too.
/// Errors: kNothingUsable (no sample), kNoFeasibleLimits (fewer samples than `micro_batch`, a
/// max_samples below it, or caps above kLargestCap would be needed).
Result<PackLimits> paper_limits(const metrics::SampleColumns& samples,
                                const PaperLimitOptions& options);

}  // namespace omnibal::pack
