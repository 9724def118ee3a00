// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/stage_memory.h"

#include <algorithm>
#include <cassert>

namespace omnibal::simulate {
namespace {

using schedule::Action;
using schedule::ActionKind;

struct MicroBatchBytes {
  std::int64_t kept = 0;       // between forward and backward
  std::int64_t transient = 0;  // on top while it runs
};

struct StageBytes {
  std::int64_t fixed = 0;                      // weights, gradients, optimizer state
  std::vector<MicroBatchBytes> micro_batches;  // [micro-batches]
};

std::vector<StageBytes> bytes_of_stages(const cost::Profile& profile,
                                        const std::vector<partition::StageRange>& ranges,
                                        const recompute::RecomputeMask& recompute,
                                        std::span<const cost::Load> loads) {
  std::vector<StageBytes> stages(ranges.size());
  for (const cost::Load& load : loads) {
    const std::vector<cost::LayerCost> layers = cost::evaluate(profile, load);
    for (std::size_t s = 0; s < ranges.size(); ++s) {
      std::int64_t fixed = 0;
      MicroBatchBytes bytes;
      for (auto i = static_cast<std::size_t>(ranges[s].begin);
           i < static_cast<std::size_t>(ranges[s].end); ++i) {
        const bool recomputes = !recompute.empty() && recompute[i];
        fixed += layers[i].static_bytes;
        bytes.kept += recomputes ? layers[i].recomputed_bytes : layers[i].activation_bytes;
        if (recomputes) bytes.transient = std::max(bytes.transient, layers[i].activation_bytes);
      }
      stages[s].fixed = std::max(stages[s].fixed, fixed);
      stages[s].micro_batches.push_back(bytes);
    }
  }
  return stages;
}

}  // namespace

std::vector<std::int64_t> peak_bytes(const schedule::Schedule& schedule,
                                     const cost::Profile& profile, const partition::Cuts& cuts,
                                     const recompute::RecomputeMask& recompute,
                                     std::span<const cost::Load> loads) {
  assert(static_cast<std::size_t>(schedule.num_micro_batches) == loads.size());
  const auto num_layers = static_cast<std::int32_t>(profile.layers.size());
  const std::vector<StageBytes> stages =
      bytes_of_stages(profile, partition::stage_ranges(cuts, num_layers), recompute, loads);
  std::vector<std::int64_t> held(stages.size(), 0);
  std::vector<std::int64_t> peaks(stages.size(), 0);
  for (const std::vector<Action>& actions : schedule.ranks) {
    for (const Action& action : actions) {
      const auto s = static_cast<std::size_t>(action.stage.value());
      const MicroBatchBytes& bytes =
          stages[s].micro_batches[static_cast<std::size_t>(action.micro_batch.value())];
      if (action.kind == ActionKind::kForward) held[s] += bytes.kept;
      if (is_compute(action.kind)) {
        peaks[s] = std::max(peaks[s], stages[s].fixed + held[s] + bytes.transient);
      }
      if (action.kind == ActionKind::kBackward) held[s] -= bytes.kept;
    }
  }
  return peaks;
}

}  // namespace omnibal::simulate
