// SPDX-License-Identifier: Apache-2.0
//
// RankLayout: which stages a rank runs, and the moments at which it holds most.
#pragma once

#include <vector>

#include "joint/cut_grid.h"
#include "omnibal/joint/joint.h"
#include "omnibal/schedule/fullest.h"

namespace omnibal::joint {

struct RankLayout {
  schedule::Schedule schedule;
  bool splits = false;  // backwards are split
  std::vector<schedule::RankMoments> ranks;

  std::size_t rank_of(std::size_t stage) const {
    return static_cast<std::size_t>(schedule.stage_rank[stage].value());
  }
};

/// Error: kInvalidArgument, of make_schedule.
Result<RankLayout> rank_layout(const JointProblem& problem);

/// The spans of a rank's stages.
using RankSpans = std::vector<StageSpan>;
RankSpans spans_of_rank(const RankLayout& layout, std::size_t rank, const StageEnds& ends);

/// Peak of a rank with these choices, the bytes beside the layers included.
std::int64_t peak_of_rank(const RankLayout& layout, std::size_t rank, const StageTables& tables,
                          std::span<const JointLayer> layers, const RankSpans& spans,
                          const LayerChoices& choices);

}  // namespace omnibal::joint
