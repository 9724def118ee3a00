// SPDX-License-Identifier: Apache-2.0
//
// What ends an optimizer step: gradients are reduced over the data-parallel ranks while other
// stages still compute, the optimizer runs, and sharded weights are gathered.
//
//   OMNIBAL_ASSIGN(const StepEnd end, step_end({profile, cuts, schedule, cluster, sizes},
//                                              Reduction::kDistributed));
//   run_step_end(compiled, end, ready_s, computed_s).makespan_s;
//
// Not for ZeRO-3, which gathers and reduces layer by layer: zero3.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/profile.h"
#include "omnibal/partition/partition.h"
#include "omnibal/schedule/schedule.h"
#include "omnibal/simulate/pipeline.h"

namespace omnibal::simulate {

enum class Reduction {
  kNone,        // the step ends with its last backward
  kAllReduce,   // every rank gets all gradients and keeps all optimizer states
  kDistributed  // reduce-scatter, each rank updates its share, all-gather of the weights
};
std::string_view to_string(Reduction reduction);
std::vector<std::string> reduction_names();  // "none", "all-reduce", "distributed"
/// Error: kInvalidArgument, naming what there is.
Result<Reduction> parse_reduction(std::string_view text);

/// Seconds by stage; empty: the step ends with its last backward.
struct StepEnd {
  std::vector<double> reduce_s;     // a collective of all data-parallel ranks
  std::vector<double> optimizer_s;  // on every device of the stage
  std::vector<double> gather_s;     // of the updated weights
  bool empty() const { return reduce_s.empty(); }
};

struct StepEndCase {
  const cost::Profile& profile;
  const partition::Cuts& cuts;
  const schedule::Schedule& schedule;
  const cluster::ClusterSpec& cluster;
  cluster::ParallelSizes sizes;  // pp: ranks of the pipeline
};

/// A trainable parameter is an fp32 gradient (4 bytes) to reduce and a bf16 weight (2) to gather.
/// Updating it moves 30 bytes through the device's memory: the gradient is read, fp32 master weight
/// and Adam's two moments are read and written, the bf16 weight is written. A device holds
/// parameters / tp (what tensor parallelism replicates counts as split). Errors: kMissingKey
/// (nothing trainable has `parameters`, or the cluster no `memory_bytes_per_s`).
Result<StepEnd> step_end(const StepEndCase& step, Reduction reduction);

struct StepEndSpan {
  enum class Kind { kReduce, kOptimizer, kGather };
  Kind kind = Kind::kReduce;
  std::int32_t rank = 0;
  std::int32_t stage = 0;
  double start_s = 0;
  double end_s = 0;
};

struct StepEndTimeline {
  std::vector<StepEndSpan> spans;  // by rank
  double makespan_s = 0;
};

/// `ready_s`: by stage, when the last data-parallel rank has all its gradients; `computed_s`: when
/// the last rank has computed everything. A rank reduces its stages one after another in the order
/// in which they are ready. The optimizer starts when every gradient everywhere is reduced, because
/// clipping needs their norm; a rank then updates its stages and gathers their weights.
StepEndTimeline run_step_end(const CompiledSchedule& schedule, const StepEnd& end,
                             std::span<const double> ready_s, double computed_s);

}  // namespace omnibal::simulate
