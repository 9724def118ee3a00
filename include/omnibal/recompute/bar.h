// SPDX-License-Identifier: Apache-2.0
//
// Which layers of a stage recompute their activations: the paper's balanced adaptive
// recomputation (BAR), from measured or modelled memory.
//
//   const std::vector<BarLayer> layers = bar_layers(profile, costs);
//   const MemoryProbe probe = modelled_memory(costs, cuts, in_flight);
//   OMNIBAL_ASSIGN(const RecomputeMask mask, bar({layers, cuts, limit_bytes}, probe));
//
// Not for choosing cuts and recomputation together: here the cuts are given.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/base/strong_index.h"
#include "omnibal/cost/profile.h"

namespace omnibal::recompute {

/// recompute[l]: layer l recomputes.
using RecomputeMask = std::vector<bool>;

enum class LayerClass { kVision, kLlm, kOther };

/// One layer as BAR sees it.
struct BarLayer {
  LayerClass layer_class = LayerClass::kOther;
  double recompute_s = 0;  // what recomputing it costs a micro-batch
  bool can_recompute = true;
  std::int64_t activation_bytes = 0;  // rebuilt at once while it recomputes: the transient
  bool trainable = true;              // it has a weight gradient, which needs its activation
};

/// Class by kind: ViT and LLM blocks are kVision and kLlm, everything else kOther; a layer without
/// kind counts as kLlm, so that a list of unknown layers is one class.
std::vector<BarLayer> bar_layers(const cost::Profile& profile,
                                 std::span<const cost::LayerCost> costs);

/// Peak bytes of stage `stage` when its layers recompute as `mask` (whole model) says: a dry run
/// of the trainer, or the planner's memory model.
using MemoryProbe = std::function<std::int64_t(StageIndex stage, const RecomputeMask& mask)>;

/// The memory model: static + in_flight x kept + the largest activation among the recomputed
/// layers. `layers` must outlive the probe. O(layers of the stage) a call; may be called from many
/// threads.
MemoryProbe modelled_memory(std::span<const cost::LayerCost> layers,
                            std::span<const std::int32_t> cuts,
                            std::vector<std::int64_t> in_flight);

struct BarProblem {
  std::span<const BarLayer> layers;     // whole model
  std::span<const std::int32_t> cuts;   // first layers of stages 1..p-1
  std::int64_t memory_limit_bytes = 0;  // of a device
  /// Which rank runs a stage, where a rank runs several; empty: a stage a rank. The probe then
  /// answers for the whole rank of the stage, with the layers of all its stages as in the mask.
  std::vector<RankIndex> stage_rank = {};
};

/// The paper's four steps: (1) recompute everything, free memory M_r; (2) switch a layer of each
/// class off, read the change; (3) the saving of a ViT layer M_v and of an LLM layer M_t; (4) per
/// stage the least recomputation time that fits: its first k_v ViT and k_l LLM layers recompute.
///
/// The estimate of step 3 only says where to look: the probe decides. The answer fits by the probe,
/// and it is the (k_v, k_l) of least time that does, if the probe minus the largest activation
/// among the recomputed layers does not rise as more layers recompute (the memory model keeps that,
/// for any mix of layers). Ties: fewer layers, then fewer ViT layers. Where no (k_v, k_l) fits, the
/// stage's other layers (projector, embedding, head) recompute too. About 3 (n_v + 1) probes a
/// stage of n_v ViT layers.
///
/// Where a rank runs several stages, they are chosen one after the other, the last first (it holds
/// the fewest micro-batches, so that keeping there is cheapest), with everything recomputed on
/// those not yet chosen. Error: kMemoryInfeasible, naming the stage that misses most, and by how
/// many bytes.
Result<RecomputeMask> bar(const BarProblem& problem, const MemoryProbe& probe);

/// No layer recomputes.
RecomputeMask recompute_none(std::size_t num_layers);
/// Every layer recomputes that can.
RecomputeMask recompute_full(std::span<const BarLayer> layers);

/// Indices of the layers that recompute, ascending, as files have them; and back (error:
/// kOutOfRange, naming the index).
std::vector<std::int64_t> recomputed_layers(const RecomputeMask& mask);
Result<RecomputeMask> mask_of(std::span<const std::int64_t> layers, std::size_t num_layers);

/// kMemoryInfeasible, as above, unless every stage is within the limit with this mask.
Status check_memory(const BarProblem& problem, const RecomputeMask& mask, const MemoryProbe& probe);

}  // namespace omnibal::recompute
