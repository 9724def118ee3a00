// SPDX-License-Identifier: Apache-2.0
//
// Where a rank stands among dp x pp x tp ranks, and the groups it speaks in.
//
//   const RankPlace place = place_of(5, {.dp = 2, .pp = 2, .tp = 2});   // dp 0, pp 1, tp 1
//   OMNIBAL_ASSIGN(ProcessGroups groups, make_process_groups(*world, layout, {0, 1}));
//   groups.dp->all_reduce(...);   // same stage, same shard, other data
//
// Not a choice of the layout: the planner makes that.
#pragma once

#include <memory>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// Ranks are numbered as the planner and Megatron number devices: tensor groups stand together
/// (inside a node), data-parallel ranks next, stages farthest apart.
struct RankLayout {
  int dp = 1;
  int pp = 1;
  int tp = 1;

  int num_ranks() const { return dp * pp * tp; }
};

struct RankPlace {
  int dp = 0;
  int pp = 0;
  int tp = 0;
};

RankPlace place_of(int rank, const RankLayout& layout);
int rank_of(const RankPlace& place, const RankLayout& layout);

/// The pipeline ranks that hold the token embedding and the head.
struct EmbeddingStages {
  int embedding = 0;
  int head = 0;
};

struct ProcessGroups {
  std::unique_ptr<Communicator> dp;  // rank = dp index
  std::unique_ptr<Communicator> pp;  // rank = pipeline rank
  std::unique_ptr<Communicator> tp;  // rank = shard
  /// All stages and shards of one data-parallel replica: pp x tp ranks.
  std::unique_ptr<Communicator> model;
  /// The two owners of a tied embedding, embedding first; null where this rank is neither or both.
  std::unique_ptr<Communicator> tie;
};

/// Collective over `world`. Errors: kSizesDoNotDivide (the layout has another number of ranks),
/// kOutOfRange (a stage beyond pp), those of Communicator::split.
Result<ProcessGroups> make_process_groups(Communicator& world, const RankLayout& layout,
                                          const EmbeddingStages& stages);

}  // namespace omnibal::runtime
