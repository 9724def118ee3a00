// SPDX-License-Identifier: Apache-2.0
//
// GPipe (arXiv 1811.06965), 1F1B (PipeDream-Flush, arXiv 2006.09503) and interleaved 1F1B
// (Megatron-LM, arXiv 2104.04473, section 2.2.2): forwards ahead, then one forward and one backward
// in turn, then the remaining backwards.
#include <algorithm>

#include "schedule/stage_lists.h"

namespace omnibal::schedule {
namespace {

/// `ahead` forwards, then the others in turn with backwards, then the backwards that are left.
std::vector<Action> in_turns(const std::vector<Action>& forwards,
                             const std::vector<Action>& backwards, std::size_t ahead) {
  ahead = std::min(ahead, forwards.size());
  std::vector<Action> actions(forwards.begin(),
                              forwards.begin() + static_cast<std::ptrdiff_t>(ahead));
  actions.reserve(forwards.size() + backwards.size());
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    if (ahead + i < forwards.size()) actions.push_back(forwards[ahead + i]);
    actions.push_back(backwards[i]);
  }
  return actions;
}

std::vector<Action> of_one_stage(ActionKind kind, const RankPlace& place) {
  std::vector<Action> actions;
  for (std::int32_t m = 0; m < place.num_micro_batches; ++m) {
    actions.push_back(action_of(kind, place.rank, m));
  }
  return actions;
}

std::vector<Action> list_with_warmup(const RankPlace& place, std::int32_t ahead) {
  return in_turns(of_one_stage(ActionKind::kForward, place),
                  of_one_stage(ActionKind::kBackward, place), static_cast<std::size_t>(ahead));
}

/// Sizes of the groups in which micro-batches go through the chunks: at least as many as ranks,
/// or the first would come round to the next chunk before the last has left; else as small as can
/// be, for memory; as even as can be, the larger behind.
std::vector<std::int32_t> group_sizes(const RankPlace& place) {
  const std::int32_t count = place.num_micro_batches;
  const std::int32_t groups = std::max(1, count / place.num_ranks);
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(groups), count / groups);
  for (std::int32_t larger = count % groups; larger > 0; --larger) {
    ++sizes[static_cast<std::size_t>(groups - larger)];
  }
  return sizes;
}

}  // namespace

std::vector<Action> gpipe_list(const RankPlace& place) {
  return list_with_warmup(place, place.num_micro_batches);
}

std::vector<Action> one_f_one_b_list(const RankPlace& place) {
  return list_with_warmup(place, place.num_ranks - 1 - place.rank);
}

std::vector<Action> interleaved_list(const RankPlace& place, std::int32_t chunks) {
  std::vector<Action> forwards;
  std::vector<Action> backwards;
  std::int32_t first = 0;
  const std::vector<std::int32_t> sizes = group_sizes(place);
  for (const std::int32_t size : sizes) {
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int32_t stage = chunk * place.num_ranks + place.rank;
      const std::int32_t mirrored = (chunks - 1 - chunk) * place.num_ranks + place.rank;
      for (std::int32_t m = first; m < first + size; ++m) {
        forwards.push_back(action_of(ActionKind::kForward, stage, m));
        backwards.push_back(action_of(ActionKind::kBackward, mirrored, m));
      }
    }
    first += size;
  }
  // All chunks but the last of a (largest) group, and two for every rank behind: one for the way
  // there, one for the way back, so that no rank waits once all are busy.
  const std::int32_t ahead = 2 * (place.num_ranks - 1 - place.rank) + (chunks - 1) * sizes.back();
  return in_turns(forwards, backwards, static_cast<std::size_t>(ahead));
}

}  // namespace omnibal::schedule
