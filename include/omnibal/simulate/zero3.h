// SPDX-License-Identifier: Apache-2.0
//
// ZeRO-3: data parallel without a pipeline, every layer's states sharded over the ranks. A layer's
// weights are gathered before its forward and again before its backward, its gradients are
// reduced and scattered behind the backward, in every micro-batch.
//
//   OMNIBAL_ASSIGN(const Zero3Program program, compile_zero3({profile, recompute, 64, &cluster}));
//   makespan(program, loads);                        // loads[rank][micro-batch]
//   OMNIBAL_ASSIGN(const Zero3Step step, simulate_zero3({profile, recompute, 64}, loads));
//
// Not for pipelines with sharded optimizer states (step_end.h), nor for ZeRO-1 and ZeRO-2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/profile.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/simulate/step.h"

namespace omnibal::simulate {

/// When a rank waits for the others.
enum class Zero3Waiting {
  kEveryLayer,  // a collective starts when the last rank has asked for it
  kOnceAStep    // ranks run alone and meet at the end, as estimates by hand count
};

struct Zero3Case {
  const cost::Profile& profile;
  const recompute::RecomputeMask& recompute;  // empty: no layer recomputes
  std::int64_t num_ranks = 1;
  const cluster::ClusterSpec* cluster = nullptr;  // null: collectives take no time, but wait
  std::int64_t tp = 1;
  std::int32_t prefetch = 1;  // how many layers are gathered ahead of the one that computes
  Zero3Waiting waiting = Zero3Waiting::kEveryLayer;
  bool update = false;  // the step ends with the optimizer, each rank on its share
};

/// What every rank does in a micro-batch, in order: layers forward, then backward. A layer that
/// has no backward (frozen, with nothing trainable before it) is left out there.
struct Zero3Program {
  struct Operation {
    std::int32_t layer = 0;
    bool backward = false;
    cost::LinearCost seconds;
    bool gathers = false;  // it has weights
    double gather_s = 0;
    bool reduces = false;  // a backward that has weight gradients
    double reduce_s = 0;
  };
  std::vector<Operation> operations;
  std::int64_t num_ranks = 1;
  std::int32_t prefetch = 1;
  Zero3Waiting waiting = Zero3Waiting::kEveryLayer;
  double optimizer_s = 0;
};

/// Weights and gradients travel as bf16. Errors: kInvalidArgument (no ranks, a negative prefetch);
/// kMissingKey (no layer has `parameters`; `update` without a cluster that has
/// `memory_bytes_per_s`).
Result<Zero3Program> compile_zero3(const Zero3Case& zero3);

/// Seconds of one step with loads[rank][micro-batch], of one shape. Collectives form one queue, in
/// the order in which a rank asks: the weights of the operation `prefetch` places ahead when an
/// operation starts (without prefetch, when the one before has ended), the gradients when it ends.
/// A layer whose operations follow each other is gathered once. O(ranks x micro-batches x layers).
double makespan(const Zero3Program& program, std::span<const std::vector<cost::Load>> loads);

struct Zero3Step {
  double makespan_s = 0;
  /// As of a pipeline (step.h). rank_imbalance_s: saved if every rank's micro-batch m had the mean
  /// load; communication_s: besides, if collectives took no time; there are no stages and, up to
  /// rounding, no bubble.
  Breakdown breakdown;
  double optimizer_s = 0;  // the part of breakdown.useful_s
  std::vector<RankUse> ranks;
  std::vector<std::int64_t> peak_bytes;  // by rank
};

/// Errors: those of compile_zero3 and cost::check_bytes; kInvalidArgument (loads of another shape).
Result<Zero3Step> simulate_zero3(const Zero3Case& zero3,
                                 std::span<const std::vector<cost::Load>> loads);

/// Most bytes that a rank holds in a micro-batch of `load`: its share of the states (18 bytes a
/// parameter that trains, 2 of a frozen one), gathered weights of the operation that runs and of
/// those prefetched, gradients of the layer and of the one being reduced, kept activations, and the
/// activations of a layer while it recomputes.
std::int64_t zero3_peak_bytes(const Zero3Case& zero3, const Zero3Program& program,
                              const cost::Load& load);

}  // namespace omnibal::simulate
