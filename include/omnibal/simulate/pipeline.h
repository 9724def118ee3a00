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
// is free and the gradient has arrived. Transfers overlap computation: they delay the receiver and
// neither occupy a rank nor queue behind each other. One pass over an order that is fixed when the
// schedule is compiled; no event queue.
//
// Not for memory (stage_memory.h) and not for what a stage costs (stage_times.h).
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
  std::vector<double> backward_s;    // input + weight gradients, without recomputation
  std::vector<double> recompute_s;   // added in front of the backward
  std::vector<double> activation_s;  // transfer of the boundary behind stage s; [M, p], last 0
  std::vector<double> gradient_s;    // transfer back over the same boundary

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
    bool backward = false;
    bool waits = false;  // for the stage before (forward) or behind (backward)
  };
  std::int32_t num_stages = 0;
  std::int32_t num_micro_batches = 0;
  std::int32_t num_ranks = 0;
  std::vector<std::int32_t> stage_rank;
  std::vector<Step> steps;
};

/// Takes compute lists or lowered ones. O(actions). Errors: kInternal if the schedule is not valid;
/// kInvalidArgument if it has weight gradients of their own, whose times PipelineTimes does not
/// tell apart.
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

/// Where the device-seconds of a step over all data-parallel ranks go: dp x pp devices (a tensor
/// group counts once) until the slowest has finished. The parts sum to makespan x devices.
///
/// Busy time is useful_s + recompute_s. Idle time is told apart by removing one cause after the
/// other and simulating again:
///   0. as it is;
///   1. equal ranks: every rank's micro-batch m takes the mean over the ranks, stage by stage
///      (links too);
///   2. equal stages: besides, every stage of micro-batch m takes the mean over the stages;
///   3. free links: besides, transfers take no time.
/// None of them changes the busy time, so a fall of the makespan is idle time saved on all devices:
/// 0 -> 1 is rank_imbalance_s, 1 -> 2 stage_imbalance_s, 2 -> 3 communication_s, and what is idle
/// in 3 is the schedule's own bubble. Making ranks equal or links free never lengthens a step;
/// making stages equal can, where loads that differ happen to interlock. Such an imbalance counts
/// 0, not less, and the next parts are measured from the shorter makespan.
struct Breakdown {
  double useful_s = 0;
  double recompute_s = 0;
  double stage_imbalance_s = 0;
  double rank_imbalance_s = 0;
  double bubble_s = 0;
  double communication_s = 0;
};

struct RankUse {
  double busy_s = 0;
  double idle_s = 0;
};

struct StepSimulation {
  double makespan_s = 0;       // of the slowest data-parallel rank
  double bubble_fraction = 0;  // idle / (makespan x devices)
  Breakdown breakdown;         // device-seconds over dp x pp devices (a tensor group counts once)
  std::vector<RankUse> ranks;  // [dp * pp], data-parallel rank major
};

/// `pipelines`: one a data-parallel rank. Error: kInvalidArgument if shapes disagree or there is
/// none.
Result<StepSimulation> simulate_step(const CompiledSchedule& schedule,
                                     std::span<const PipelineTimes> pipelines);

/// Chrome trace JSON (opens in Perfetto): a process a data-parallel rank, a thread a pipeline rank,
/// a slice a forward or backward with the recomputation inside it; whole nanoseconds.
std::string chrome_trace(std::span<const Timeline> timelines);

}  // namespace omnibal::simulate
