// SPDX-License-Identifier: Apache-2.0
//
// Where caps are looked for: between what the largest sample needs and what can be of use.
#pragma once

#include <cstdint>
#include <vector>

#include "limit_prediction.h"

namespace omnibal::plan {

/// Values that one cap may take: `lowest`, every multiple of `unit` above it, `highest`.
struct CapRange {
  std::int64_t lowest = 1;
  std::int64_t highest = 1;
  std::int64_t unit = 1;

  std::int64_t size() const;
  std::vector<std::int64_t> all() const { return coarse(highest + 1); }
  /// The value next to `cap` in steps of at least `distance`, inside the range.
  std::int64_t above(std::int64_t cap, std::int64_t distance) const;
  std::int64_t below(std::int64_t cap, std::int64_t distance) const;
  /// lowest, ..., highest, each at least a unit and about 1 / parts of itself above the one before.
  std::vector<std::int64_t> coarse(std::int64_t parts) const;
  /// `cap` and its neighbours at 1, 2, 4, ... units, up to about an eighth of it.
  std::vector<std::int64_t> around(std::int64_t cap) const;
};

struct CapGrid {
  CapRange vision;
  CapRange tokens;
  std::int64_t too_large = 0;  // usable samples above a lowest cap: no caps that fit hold all
};

/// Lowest caps hold every usable sample, or as many as fit in memory together: then no larger caps
/// that fit would hold another. Highest: a rank's whole share of the global batch in one pack.
/// Error: kMemoryInfeasible and kTooManyStages, where even the smallest sample does not fit.
Result<CapGrid> cap_grid(const LimitProblem& problem);

}  // namespace omnibal::plan
