// SPDX-License-Identifier: Apache-2.0
//
// Which layers of a stage recompute their activations: the paper's balanced adaptive
// recomputation (BAR), from measured memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/base/strong_index.h"

namespace omnibal::recompute {

/// recompute[l]: layer l recomputes.
using RecomputeMask = std::vector<bool>;

enum class LayerClass { kVision, kLlm, kOther };

/// One stage's layers as BAR sees them.
struct BarLayer {
  LayerClass layer_class = LayerClass::kOther;
  double recompute_s = 0;  // what recomputing it costs a micro-batch
  bool can_recompute = true;
};

/// Peak bytes of stage `stage` when its layers recompute as `mask` (whole model) says: a dry run
/// of the trainer, or the planner's memory model.
using MemoryProbe = std::function<std::int64_t(StageIndex stage, const RecomputeMask& mask)>;

struct BarProblem {
  std::span<const BarLayer> layers;     // whole model
  std::span<const std::int32_t> cuts;   // first layers of stages 1..p-1
  std::int64_t memory_limit_bytes = 0;  // of a device
};

/// The paper's four steps: (1) recompute everything, free memory M_r; (2) switch some layers off,
/// read the change; (3) the saving of a ViT layer M_v and an LLM layer M_t; (4) per stage the
/// least recomputation time that fits: its first k_v ViT and k_l LLM layers recompute. The answer
/// is checked with the probe. Error: kMemoryInfeasible, naming stage and missing bytes.
Result<RecomputeMask> bar(const BarProblem& problem, const MemoryProbe& probe);

}  // namespace omnibal::recompute
