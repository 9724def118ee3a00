// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/stage_memory.h"

#include <algorithm>
#include <cassert>

namespace omnibal::simulate {
namespace {

using schedule::Action;
using schedule::ActionKind;

/// Of one micro-batch on one stage.
struct MicroBatchBytes {
  std::int64_t kept = 0;         // between forward and backward
  std::int64_t for_weights = 0;  // between a split backward and its weight gradient
  std::int64_t transient = 0;    // on top while it runs
};

struct StageBytes {
  std::int64_t fixed = 0;                      // weights, gradients, optimizer state
  std::vector<MicroBatchBytes> micro_batches;  // [micro-batches]
};

bool are_equal(const cost::Load& a, const cost::Load& b) {
  return a.vision_units == b.vision_units && a.tokens == b.tokens && a.token_pairs == b.token_pairs;
}

std::vector<StageBytes> bytes_of_stages(const cost::Profile& profile,
                                        const std::vector<partition::StageRange>& ranges,
                                        const recompute::RecomputeMask& recompute,
                                        std::span<const cost::Load> loads) {
  std::vector<StageBytes> stages(ranges.size());
  for (std::size_t m = 0; m < loads.size(); ++m) {
    const cost::Load& load = loads[m];
    if (m > 0 && are_equal(load, loads[m - 1])) {
      for (StageBytes& stage : stages) stage.micro_batches.push_back(stage.micro_batches.back());
      continue;
    }
    const std::vector<cost::LayerCost> layers = cost::evaluate(profile, load);
    for (std::size_t s = 0; s < ranges.size(); ++s) {
      std::int64_t fixed = 0;
      MicroBatchBytes bytes;
      for (auto i = static_cast<std::size_t>(ranges[s].begin);
           i < static_cast<std::size_t>(ranges[s].end); ++i) {
        const bool recomputes = !recompute.empty() && recompute[i];
        fixed += layers[i].static_bytes;
        bytes.kept += recomputes ? layers[i].recomputed_bytes : layers[i].activation_bytes;
        if (profile.layers[i].trainable) bytes.for_weights += layers[i].activation_bytes;
        if (recomputes) bytes.transient = std::max(bytes.transient, layers[i].transient());
      }
      stages[s].fixed = std::max(stages[s].fixed, fixed);
      stages[s].micro_batches.push_back(bytes);
    }
  }
  return stages;
}

/// What a rank holds as its list is replayed.
class RankMemory {
 public:
  explicit RankMemory(bool splits) : splits_(splits) {}

  void add_stage(const StageBytes& stage) { held_ += stage.fixed; }

  ActionMemory replay(ActionKind kind, const MicroBatchBytes& bytes) {
    const std::int64_t before = held_;
    switch (kind) {
      case ActionKind::kForward:
        held_ += bytes.kept;
        return {held_ + bytes.transient, held_};
      case ActionKind::kBackward:
        held_ += (splits_ ? bytes.for_weights : 0) - bytes.kept;
        return {std::max(before + bytes.transient, held_), held_};
      default:
        held_ -= bytes.for_weights;
        return {before, held_};
    }
  }

 private:
  bool splits_;
  std::int64_t held_ = 0;
};

}  // namespace

std::vector<std::vector<ActionMemory>> memory_of_ranks(const schedule::Schedule& schedule,
                                                       const cost::Profile& profile,
                                                       const partition::Cuts& cuts,
                                                       const recompute::RecomputeMask& recompute,
                                                       std::span<const cost::Load> loads) {
  assert(static_cast<std::size_t>(schedule.num_micro_batches) == loads.size());
  const auto num_layers = static_cast<std::int32_t>(profile.layers.size());
  const std::vector<StageBytes> stages =
      bytes_of_stages(profile, partition::stage_ranges(cuts, num_layers), recompute, loads);
  std::vector<RankMemory> ranks(schedule.ranks.size(), RankMemory(has_weight_grads(schedule)));
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (const RankIndex owner : ranks_of(schedule, StageIndex{static_cast<std::int32_t>(s)})) {
      ranks[static_cast<std::size_t>(owner.value())].add_stage(stages[s]);
    }
  }
  std::vector<std::vector<ActionMemory>> memory(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Action& action : schedule.ranks[rank]) {
      if (!is_compute(action.kind)) continue;
      const StageBytes& stage = stages[static_cast<std::size_t>(action.stage.value())];
      memory[rank].push_back(ranks[rank].replay(
          action.kind, stage.micro_batches[static_cast<std::size_t>(action.micro_batch.value())]));
    }
  }
  return memory;
}

std::vector<std::int64_t> peak_bytes_of_stages(const schedule::Schedule& schedule,
                                               const cost::Profile& profile,
                                               const partition::Cuts& cuts,
                                               const recompute::RecomputeMask& recompute,
                                               std::span<const cost::Load> loads) {
  const auto num_layers = static_cast<std::int32_t>(profile.layers.size());
  const std::vector<StageBytes> stages =
      bytes_of_stages(profile, partition::stage_ranges(cuts, num_layers), recompute, loads);
  std::vector<std::int64_t> peaks(stages.size(), 0);
  for (const std::vector<Action>& actions : schedule.ranks) {
    std::vector<RankMemory> held(stages.size(), RankMemory(has_weight_grads(schedule)));
    for (std::size_t s = 0; s < stages.size(); ++s) held[s].add_stage(stages[s]);
    for (const Action& action : actions) {
      if (!is_compute(action.kind)) continue;
      const auto s = static_cast<std::size_t>(action.stage.value());
      const auto m = static_cast<std::size_t>(action.micro_batch.value());
      const ActionMemory memory = held[s].replay(action.kind, stages[s].micro_batches[m]);
      peaks[s] = std::max(peaks[s], memory.during_bytes);
    }
  }
  return peaks;
}

std::vector<std::int64_t> peak_bytes(const schedule::Schedule& schedule,
                                     const cost::Profile& profile, const partition::Cuts& cuts,
                                     const recompute::RecomputeMask& recompute,
                                     std::span<const cost::Load> loads) {
  std::vector<std::int64_t> peaks;
  for (const auto& actions : memory_of_ranks(schedule, profile, cuts, recompute, loads)) {
    std::int64_t peak = 0;
    for (const ActionMemory& action : actions) peak = std::max(peak, action.during_bytes);
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace omnibal::simulate
