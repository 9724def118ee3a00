// SPDX-License-Identifier: Apache-2.0
//
// Partition: where a list of layers is cut into the stages of a pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/base/strong_index.h"
#include "omnibal/model/model.h"

namespace omnibal::partition {

/// The layers at which a new stage begins, ascending: num_stages - 1 of them, no stage empty.
using Cuts = std::vector<LayerIndex>;

/// Stage s holds layers [begin(s), end(s)).
struct StageRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};
std::vector<StageRange> stage_ranges(const Cuts& cuts, std::int32_t num_layers);

/// Error of every solver below: kTooManyStages if there are fewer layers than stages,
/// kInvalidArgument if there are no stages.

/// Least largest stage sum; ties by lower cuts. Exact, O(n p log n) or better.
Result<Cuts> partition_min_max(std::span<const double> weights, std::int32_t num_stages);

/// Least population variance of the stage sums. Exact, O(p n^2).
Result<Cuts> partition_least_variance(std::span<const double> weights, std::int32_t num_stages);

/// The paper's anchor P+: add layers until the next one would take the running sum farther from
/// total / p.
Result<Cuts> partition_anchor(std::span<const double> weights, std::int32_t num_stages);

/// Equal layer counts, the first stages taking the remainder.
Result<Cuts> partition_even_layers(std::int32_t num_layers, std::int32_t num_stages);

/// Everything before the first LLM block and n/p LLM blocks on stage 0, the LLM blocks evenly
/// (Megatron-Core, torchtitan). `kinds` absent: by name or kInvalidArgument.
Result<Cuts> partition_vision_first(std::span<const std::optional<model::LayerKind>> kinds,
                                    std::int32_t num_stages);

/// Seconds of a step with these cuts: the planner hands in a simulation.
using Evaluator = std::function<double(const Cuts&)>;

struct BmpProblem {
  std::span<const double> forward_s;             // per layer
  std::span<const std::int64_t> boundary_bytes;  // handed to the next layer
  std::int32_t num_stages = 1;
};

struct BmpOptions {
  std::int32_t radius = 1;       // every cut of the anchor moves within +- radius
  std::int32_t candidates = 27;  // how many of the ranked are simulated
};

struct RankedCuts {
  Cuts cuts;
  double var_forward = 0;  // s^2
  std::int64_t sum_comm_bytes = 0;
  double makespan_s = 0;
};

/// The paper's search (section "balanced model partition"): the neighbours of the anchor ranked by
/// VAR(fwd_time), ties within 1 % by SUM(comm), the first `candidates` judged by `evaluate`; best
/// first. Neighbourhoods above 10^6 are enumerated best first, not whole.
Result<std::vector<RankedCuts>> partition_bmp(const BmpProblem& problem, const BmpOptions& options,
                                              const Evaluator& evaluate);

}  // namespace omnibal::partition
