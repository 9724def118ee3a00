// SPDX-License-Identifier: Apache-2.0
//
// The model and memory part of a plan as the paper makes it: cuts by BMP at the mean pack, then
// recomputation by BAR at a full pack.
#pragma once

#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/plan/model_balance.h"
#include "omnibal/plan/planner.h"
#include "omnibal/simulate/pipeline.h"

namespace omnibal::plan {

/// What a schedule and a profile mean at the two loads that decide: the mean pack's for time, a
/// full pack's for memory.
struct PipelineProblem {
  const cost::Profile& profile;
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int32_t num_stages = 1;
  std::int32_t num_micro_batches = 1;
  std::int64_t memory_bytes = 0;
  int threads = 0;
  cost::Load mean_load;
  cost::Load full_load;
  std::vector<cost::LayerCost> at_caps;
  std::vector<recompute::BarLayer> layers;
  simulate::CompiledSchedule schedule;
  std::vector<std::int64_t> in_flight;  // by stage
};

struct PipelineChoice {
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;  // layers that spare memory at all
  cost::LayerChoices choices = {};     // how; empty: they recompute all of themselves
};

/// What a pipeline is chosen for.
struct PipelineSetting {
  const cost::Profile& profile;
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int64_t num_stages = 1;
  std::int64_t num_micro_batches = 1;
  std::int64_t memory_bytes = 0;
  cost::Load mean_load;
  pack::PackLimits limits;
  int threads = 0;
};

/// The profile must outlive the problem. Errors: those of make_schedule, cost::check_bytes.
Result<PipelineProblem> pipeline_problem(const PipelineSetting& setting);

/// For the packs of a plan.
Result<PipelineProblem> pipeline_problem(const Plan& plan, int threads);

/// Cuts by `method` at the mean pack's load, judged with everything recomputed: recomputation is
/// chosen after the cuts. Error: kTooManyStages.
Result<partition::Cuts> cuts_by(PartitionMethod method, const PipelineProblem& problem);

/// Cuts by BMP, recomputation by BAR; where that does not fit (cuts that balance time alone may put
/// most weights on one stage), cuts that spread the bytes evenly. Errors: kTooManyStages,
/// kMemoryInfeasible.
Result<PipelineChoice> choose_pipeline(const PipelineProblem& problem);

/// Stages of the plan's cuts with a full pack in every micro-batch.
std::vector<metrics::StageSummary> stages_at_caps(const Plan& plan, const PipelineProblem& problem);

/// The load of a pack at both caps, one segment long: the worst that a pack can be.
cost::Load full_pack(const pack::PackLimits& limits);

}  // namespace omnibal::plan
