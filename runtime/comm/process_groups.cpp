// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/comm/process_groups.h"

#include <fmt/format.h>

namespace omnibal::runtime {
namespace {

Status check(const Communicator& world, const RankLayout& layout, const EmbeddingStages& stages) {
  if (layout.dp < 1 || layout.pp < 1 || layout.tp < 1 || layout.num_ranks() != world.size()) {
    return Error(ErrorCode::kSizesDoNotDivide,
                 fmt::format("dp {} x pp {} x tp {} is not the number of ranks", layout.dp,
                             layout.pp, layout.tp))
        .with_value(std::int64_t{layout.num_ranks()})
        .with_limit(std::int64_t{world.size()})
        .with_hint("start dp x pp x tp ranks");
  }
  for (const int stage : {stages.embedding, stages.head}) {
    if (stage < 0 || stage >= layout.pp) {
      return Error(ErrorCode::kOutOfRange, "no such pipeline rank")
          .with_value(std::int64_t{stage})
          .with_limit(std::int64_t{layout.pp} - 1);
    }
  }
  return {};
}

}  // namespace

RankPlace place_of(int rank, const RankLayout& layout) {
  return {.dp = rank / layout.tp % layout.dp,
          .pp = rank / (layout.tp * layout.dp),
          .tp = rank % layout.tp};
}

int rank_of(const RankPlace& place, const RankLayout& layout) {
  return (place.pp * layout.dp + place.dp) * layout.tp + place.tp;
}

Result<ProcessGroups> make_process_groups(Communicator& world, const RankLayout& layout,
                                          const EmbeddingStages& stages) {
  OMNIBAL_RETURN_IF_ERROR(check(world, layout, stages));
  const RankPlace at = place_of(world.rank(), layout);
  const auto without = [&](int RankPlace::*axis) {
    RankPlace origin = at;
    origin.*axis = 0;
    return rank_of(origin, layout);
  };
  ProcessGroups groups;
  OMNIBAL_ASSIGN(groups.dp, world.split(without(&RankPlace::dp), at.dp, "dp"));
  OMNIBAL_ASSIGN(groups.pp, world.split(without(&RankPlace::pp), at.pp, "pp"));
  OMNIBAL_ASSIGN(groups.tp, world.split(without(&RankPlace::tp), at.tp, "tp"));
  OMNIBAL_ASSIGN(groups.model, world.split(at.dp, world.rank(), "model"));

  const bool tied =
      stages.embedding != stages.head && (at.pp == stages.embedding || at.pp == stages.head);
  const int color = tied ? without(&RankPlace::pp) : layout.num_ranks() + world.rank();
  OMNIBAL_ASSIGN(groups.tie, world.split(color, at.pp == stages.embedding ? 0 : 1, "tie"));
  if (!tied) groups.tie = nullptr;
  return groups;
}

}  // namespace omnibal::runtime
