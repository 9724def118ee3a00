// SPDX-License-Identifier: Apache-2.0
//
// Event simulation of one pipeline (one data-parallel rank) executing a schedule, with its own
// load in every micro-batch.
//
//   OMNIBAL_ASSIGN(const CompiledSchedule compiled, compile(schedule));
//   const double seconds = makespan(compiled, times);        // about 5 ns an action
//   const Timeline timeline = simulate(compiled, times);     // the same, with every interval
//
// A forward starts when its rank is free and the activation has arrived, a backward when its rank
// is free and the gradient has arrived, a weight gradient when its rank is free. A rank may run
// several stages. Transfers overlap computation: they delay the receiver and neither occupy a rank
// nor queue behind each other. One pass over an order that is fixed when the schedule is compiled;
// no event queue.
//
// Not for memory (stage_memory.h), not for what a stage costs (stage_times.h), not for the gradient
// reduction and the optimizer behind the last backward (step_end.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::simulate {

/// Seconds of every compute action and transfer of one pipeline; row-major [micro_batch, stage].
struct PipelineTimes {
  std::int32_t num_stages = 0;
  std::int32_t num_micro_batches = 0;
  std::vector<double> forward_s;
  std::vector<double> backward_s;     // input + weight gradients, without recomputation
  std::vector<double> weight_grad_s;  // the part of backward_s that a split backward runs apart
  std::vector<double> recompute_s;    // added in front of the backward
  std::vector<double> activation_s;   // transfer of the boundary behind stage s; [M, p], last 0
  std::vector<double> gradient_s;     // transfer back over the same boundary

  std::size_t index(std::int32_t micro_batch, std::int32_t stage) const {
    return static_cast<std::size_t>(micro_batch) * static_cast<std::size_t>(num_stages) +
           static_cast<std::size_t>(stage);
  }
  static PipelineTimes zeros(std::int32_t num_stages, std::int32_t num_micro_batches);
};

/// A schedule's compute actions in an order in which each stands behind everything it waits for.
/// Compiled once, executed for any number of PipelineTimes of its shape.
struct CompiledSchedule {
  struct Step {
    std::int32_t cell = 0;  // index of PipelineTimes
    std::int32_t rank = 0;
    schedule::ActionKind kind = schedule::ActionKind::kForward;
    bool waits = false;  // for the stage before (forward) or behind (backward)
  };
  std::int32_t num_stages = 0;
  std::int32_t num_micro_batches = 0;
  std::int32_t num_ranks = 0;
  bool splits_backward = false;  // there are weight gradients of their own
  std::vector<std::int32_t> stage_rank;
  std::vector<Step> steps;
  std::vector<std::int32_t> spread_ranks = {};  // of stage 0, if it is spread (schedule.h)

  /// The ranks that run `stage`.
  std::span<const std::int32_t> ranks_of(std::int32_t stage) const {
    if (stage == 0 && !spread_ranks.empty()) return spread_ranks;
    return {&stage_rank[static_cast<std::size_t>(stage)], 1};
  }
};

/// Takes compute lists or lowered ones. O(actions). Error: kInternal if the schedule is not valid.
Result<CompiledSchedule> compile(const schedule::Schedule& schedule);

struct Interval {
  schedule::Action action;
  double start_s = 0;
  double end_s = 0;
  double recompute_s = 0;  // of a backward: its first part
};

struct Timeline {
  std::vector<std::vector<Interval>> ranks;  // compute actions in order of time
  double makespan_s = 0;
};

/// `times` must have the schedule's shape. O(actions).
Timeline simulate(const CompiledSchedule& schedule, const PipelineTimes& times);
/// The makespan alone, without building intervals; equals simulate(...).makespan_s bit for bit.
double makespan(const CompiledSchedule& schedule, const PipelineTimes& times);
/// When each stage's last backward (of a split one: last weight gradient) ends: from then on its
/// gradients can be reduced.
std::vector<double> gradients_done(const CompiledSchedule& schedule, const PipelineTimes& times);

}  // namespace omnibal::simulate
