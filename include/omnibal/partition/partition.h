// SPDX-License-Identifier: Apache-2.0
//
// Partition: where a list of layers is cut into the stages of a pipeline.
//
//   OMNIBAL_ASSIGN(const Cuts cuts, partition_min_max(forward_s, 8));
//   for (const StageRange& stage : stage_ranges(cuts, num_layers)) { ... }
//   partition_bmp({forward_s, boundary_bytes, 8}, {}, [](const Cuts& cuts) { return seconds; });
//
// Not for memory: which layers recompute is room recompute's answer, for given cuts. Weights are
// finite and not negative (a profile that was read has no others). Of equally good answers a solver
// gives the one with the lowest cuts, the first cut deciding first.
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

/// The cuts as plain numbers, as metrics, recompute and files take them, and back.
std::vector<std::int32_t> first_layers(const Cuts& cuts);
Cuts cuts_at(std::span<const std::int32_t> first_layers);

/// Cuts that a person or a file gives: kOutOfRange unless they rise and leave no stage empty.
Status check_cuts(const Cuts& cuts, std::int32_t num_layers);

/// What every solver below asks first: kTooManyStages if there are fewer layers than stages,
/// kInvalidArgument if there are no stages.
Status check_stages(std::int64_t num_layers, std::int32_t num_stages);

/// Least largest stage sum. Exact: bisection on the value, every step one greedy pass; O(64 n).
Result<Cuts> partition_min_max(std::span<const double> weights, std::int32_t num_stages);

/// Least population variance of the stage sums. Exact dynamic program, O(p n^2): for a fixed number
/// of stages the mean is fixed, so the squared deviations add up stage by stage.
Result<Cuts> partition_least_variance(std::span<const double> weights, std::int32_t num_stages);

/// The paper's anchor P+: each stage takes layers until the next one would take its sum farther
/// from total / p, and leaves at least a layer for every stage behind it. O(n).
Result<Cuts> partition_anchor(std::span<const double> weights, std::int32_t num_stages);

/// Equal layer counts, the first stages taking the remainder.
Result<Cuts> partition_even_layers(std::int32_t num_layers, std::int32_t num_stages);

/// Everything before the first LLM block and floor(n/p) of the n LLM blocks on stage 0, the other
/// blocks evenly on the other stages, the first of them taking the remainder (Megatron-Core,
/// torchtitan). Errors: kInvalidArgument if no layer is an LLM block, kTooManyStages if a stage
/// would have none and nothing else.
Result<Cuts> partition_vision_first(std::span<const std::optional<model::LayerKind>> kinds,
                                    std::int32_t num_stages);

/// Seconds of a step with these cuts: the planner hands in a simulation. Infinity: cannot run.
/// Called from several threads at once if BmpOptions::threads says so.
using Evaluator = std::function<double(const Cuts&)>;

struct BmpProblem {
  std::span<const double> forward_s;             // per layer
  std::span<const std::int64_t> boundary_bytes;  // handed to the next layer
  std::int32_t num_stages = 1;
};

struct BmpOptions {
  std::int32_t radius = 1;       // every cut of the anchor moves within +- radius
  std::int32_t candidates = 27;  // how many of the ranked are simulated
  int threads = 1;               // that simulate; 0: all
};

struct RankedCuts {
  Cuts cuts;
  double var_forward = 0;  // s^2
  std::int64_t sum_comm_bytes = 0;
  double makespan_s = 0;

  friend bool operator==(const RankedCuts&, const RankedCuts&) = default;
};

/// The first `candidates` of the anchor's neighbours, best first by VAR(fwd_time), ties by
/// SUM(comm); makespan_s is 0. To make "tie" an order: neighbours in order of VAR form groups, a
/// group being all within 1 % of its first; groups stand in order, inside one SUM(comm), then VAR,
/// then the cuts decide.
///
/// The neighbours are enumerated best first and only as far as the answer needs, so that p = 16
/// with its 3^15 neighbours costs milliseconds; at most kMaxNeighbours are looked at (then the last
/// group may lack some of its members).
Result<std::vector<RankedCuts>> rank_neighbours(const BmpProblem& problem,
                                                const BmpOptions& options);
inline constexpr std::int64_t kMaxNeighbours = 5'000;

/// The paper's search (section "balanced model partition"): rank_neighbours judged by `evaluate`;
/// least makespan first, ties in order of rank. The same answer for any number of threads.
Result<std::vector<RankedCuts>> partition_bmp(const BmpProblem& problem, const BmpOptions& options,
                                              const Evaluator& evaluate);

}  // namespace omnibal::partition
