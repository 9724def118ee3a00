// SPDX-License-Identifier: Apache-2.0
//
// The pipeline that a plan directory describes, ready to be simulated: what `simulate DIR` and
// `verify` make from plan.json and profile.json.
//
//   OMNIBAL_ASSIGN(const PlanPipeline pipeline, read_pipeline(plan));
//   simulate::fill_pipeline_times(pipeline.stages, pipeline.links[rank], loads, times);
//
// Not for choosing anything: planner.h.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/partition/partition.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"
#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/stage_times.h"

namespace omnibal::plan {

struct PlanPipeline {
  cluster::ParallelSizes sizes;
  std::int64_t micro_batches = 0;
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;
  schedule::Schedule schedule;
  simulate::CompiledSchedule compiled;
  std::vector<simulate::StageCost> stages;
  std::vector<std::vector<cluster::Link>> links;  // [dp][pp - 1]; inner empty: links are free
};

/// Errors: kInvalidPlan, kMissingKey, kWrongType, kOutOfRange: a key of the model part is absent or
/// wrong, or the plan has none.
Result<PlanPipeline> read_pipeline(const PlanReader& plan);

/// Seconds of each step of the plan: the slowest data-parallel rank's makespan; a zero-weight pack
/// takes no time. The same for any number of threads. O(simulated actions).
std::vector<double> step_seconds(const PlanPipeline& pipeline, const steps::StepTable& steps,
                                 std::span<const metrics::PackLoad> loads, int threads);

/// Times of the micro-batches of one rank in one step, made anew in `times`.
void fill_step_times(const PlanPipeline& pipeline, const steps::StepTable& steps,
                     std::span<const metrics::PackLoad> loads, std::int64_t step,
                     std::int64_t rank, simulate::PipelineTimes& times);

}  // namespace omnibal::plan
