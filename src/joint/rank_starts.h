// SPDX-License-Identifier: Apache-2.0
//
// Where local moves start on plans of any schedule.
#pragma once

#include <vector>

#include "joint/least_bottleneck.h"
#include "joint/plan_pool.h"
#include "joint/rank_plan.h"

namespace omnibal::joint {

/// What a search of a problem works on.
struct RankSearch {
  const SearchSetting& setting;
  const RankLayout& layout;
  const StageTables& tables;
  RankPlan& plan;
};

/// Cuts whose stages, each by itself, are fastest if memory had no end.
LeastBottleneck fastest_stages(const RankSearch& search);

/// Cuts whose fullest stage, each by itself with a whole backward, is least full.
StageEnds least_full_stages(const RankSearch& search);

/// With a stage a rank: the cuts that need least of all.
StageEnds least_full_ranks(const RankSearch& search);

/// Cuts at which every stage ends where it should if ranks were equal, as near as layers allow,
/// what a rank got too much of in its first stages taken off its later ones. They may be off the
/// grid.
StageEnds evened_ranks(const RankSearch& search);

/// The start that needs least at its fullest rank, moved until it fits or no move helps; if it does
/// not fit, the starts moved by what all ranks miss together.
StageEnds moved_to_fit(const RankSearch& search, const std::vector<StageEnds>& starts);

/// What the paper's recomputation makes of cuts; nothing: it does not fit.
std::optional<LayerChoices> bar_choices(const RankSearch& search, const StageEnds& ends);

}  // namespace omnibal::joint
