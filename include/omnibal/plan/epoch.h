// SPDX-License-Identifier: Apache-2.0
//
// Every step of an epoch simulated with the real load of every pack.
//
//   const StepPipeline pipeline{compiled, stage_costs(profile, cuts, recompute), links, end};
//   const std::vector<double> seconds = step_seconds(pipeline, steps, loads, threads);
//
// Not for a look into one step: fill_step_times and simulate/pipeline.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/cluster/cluster.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/stage_times.h"
#include "omnibal/simulate/step_end.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// What runs the micro-batches of one data-parallel rank.
struct StepPipeline {
  simulate::CompiledSchedule schedule;
  std::vector<simulate::StageCost> stages;
  std::vector<std::vector<cluster::Link>> links;  // [dp][stages - 1]; empty: transfers take no time
  simulate::StepEnd end = {};                     // empty: a step ends with its last backward
};

/// The links of every data-parallel rank, between the stages of `schedule`.
std::vector<std::vector<cluster::Link>> links_of_ranks(const cluster::ClusterSpec& cluster,
                                                       const cluster::ParallelSizes& sizes,
                                                       const schedule::Schedule& schedule);

/// Loads of the micro-batches of `rank` in `step`: nothing for a zero-weight pack. `loads` by pack
/// id.
std::vector<cost::Load> loads_of_step(const steps::StepTable& steps,
                                      std::span<const metrics::PackLoad> loads, std::int64_t step,
                                      std::int64_t rank);

/// Times of the micro-batches of `rank` in `step`, made anew in `times`. A zero-weight pack takes
/// no time. `loads` by pack id.
void fill_step_times(const StepPipeline& pipeline, const steps::StepTable& steps,
                     std::span<const metrics::PackLoad> loads, std::int64_t step, std::int64_t rank,
                     simulate::PipelineTimes& times);

/// Seconds of each step: the slowest data-parallel rank's makespan, then the end of the step. The
/// same for any number of threads. O(simulated actions).
std::vector<double> step_seconds(const StepPipeline& pipeline, const steps::StepTable& steps,
                                 std::span<const metrics::PackLoad> loads, int threads);

}  // namespace omnibal::plan
