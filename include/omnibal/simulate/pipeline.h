// SPDX-License-Identifier: Apache-2.0
//
// Event simulation of one pipeline (one data-parallel rank) executing a schedule, with its own
// load in every micro-batch.
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

struct Interval {
  schedule::Action action;
  double start_s = 0;
  double end_s = 0;
};

struct Timeline {
  std::vector<std::vector<Interval>> ranks;  // compute actions in order of time
  double makespan_s = 0;
};

/// A forward starts when its rank is free and the activation has arrived, and so on; transfers
/// overlap computation. O(actions). The schedule must be valid.
Timeline simulate(const schedule::Schedule& schedule, const PipelineTimes& times);

/// The makespan alone, without building intervals; equals simulate(...).makespan_s bit for bit.
double makespan(const schedule::Schedule& schedule, const PipelineTimes& times);

/// Where the device-seconds of a step over all data-parallel ranks go. The sum of the parts is
/// makespan x devices; imbalances by successive counterfactuals: equal ranks, then equal stages,
/// then free links.
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

/// `pipelines`: one a data-parallel rank. Error: kInvalidArgument if shapes disagree.
Result<StepSimulation> simulate_step(const schedule::Schedule& schedule,
                                     std::span<const PipelineTimes> pipelines);

/// Chrome trace JSON (opens in Perfetto): a process a data-parallel rank, a thread a stage.
std::string chrome_trace(std::span<const Timeline> timelines);

}  // namespace omnibal::simulate
