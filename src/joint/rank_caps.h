// SPDX-License-Identifier: Apache-2.0
//
// RankCaps: the most that the stages of a rank may rebuild at once. Whether a rank fits at all, and
// the least that it needs, exactly, however its layers differ.
#pragma once

#include <cstdint>
#include <vector>

#include "joint/rank_kinds.h"
#include "joint/rank_layout.h"

namespace omnibal::joint {

/// A rank without recomputation.
struct RankBytes {
  const schedule::RankMoments& rank;
  std::vector<std::int64_t> at_moments;
};

/// The most bytes of any moment if the stages save so much of a micro-batch, and rebuild so much at
/// once. O(moments x stages).
std::int64_t peak_with(const RankBytes& bytes, const std::vector<std::int64_t>& savings,
                       const std::vector<std::int64_t>& transients);

struct RankCaps {
  std::vector<std::int64_t> transients;  // by stage of the rank
  std::int64_t peak = 0;                 // if every layer saves the most that it can within them
};

/// The largest caps under which the rank is within the limit: those of any recomputation that is
/// are nowhere larger. If there are none, the caps of the least peak of all.
///
/// A larger cap lets a stage save more, which helps every moment but those at which this stage
/// runs. So at caps above all that fit, a moment that is over the limit says that the cap of the
/// stage that runs then is too large; if none runs, or its cap is 0, nothing fits.
RankCaps largest_caps(const RankBytes& bytes, const RankKinds& kinds, const RankSpans& spans,
                      std::int64_t limit);

}  // namespace omnibal::joint
