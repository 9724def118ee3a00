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
#include "omnibal/simulate/ranked_stages.h"
#include "plan/rank_probe.h"

namespace omnibal::plan {

/// What a schedule and a profile mean at the two loads that decide: the mean pack's for time, a
/// full pack's for memory.
struct PipelineProblem {
  const cost::Profile& profile;
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;      // stages that a rank runs
  std::int32_t num_stages = 1;  // of all ranks together
  std::int32_t num_micro_batches = 1;
  std::int64_t memory_bytes = 0;
  int threads = 0;
  cost::Load mean_load;
  cost::Load full_load;
  std::vector<cost::LayerCost> at_caps;
  std::vector<recompute::BarLayer> layers;
  schedule::Schedule lists;
  simulate::CompiledSchedule schedule;
  HeldByRanks held;
};

struct PipelineChoice {
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;  // layers that spare memory at all
  cost::LayerChoices choices;          // how
};
/// Layers of the mask recompute all of themselves.
PipelineChoice whole_layers(partition::Cuts cuts, recompute::RecomputeMask recompute);

/// What a pipeline is chosen for.
struct PipelineSetting {
  const cost::Profile& profile;
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int64_t chunks = 1;
  std::int64_t num_ranks = 1;
  std::int64_t num_micro_batches = 1;
  std::int64_t memory_bytes = 0;
  cost::Load mean_load;
  pack::PackLimits limits;
  int threads = 0;
};

/// The profile must outlive the problem. Errors: those of make_schedule, cost::check_bytes.
Result<PipelineProblem> pipeline_problem(const PipelineSetting& setting);

/// For the packs of a plan, with its schedule.
Result<PipelineProblem> pipeline_problem(const Plan& plan, int threads);
/// The same with a stage a rank and 1F1B, as the paper has it.
Result<PipelineProblem> paper_problem(const Plan& plan, int threads);

/// Cuts by `method` at the mean pack's load, judged with everything recomputed: recomputation is
/// chosen after the cuts. Error: kTooManyStages.
Result<partition::Cuts> cuts_by(PartitionMethod method, const PipelineProblem& problem);

/// Cuts by BMP, recomputation by BAR; where that does not fit (cuts that balance time alone may put
/// most weights on one stage), cuts that spread the bytes evenly. Errors: kTooManyStages,
/// kMemoryInfeasible.
Result<PipelineChoice> choose_pipeline(const PipelineProblem& problem);

/// The exact min-max of forward and backward time at the mean pack: where ranks run several stages
/// or parts are frozen, BMP, by the variance of forward times, finds slower cuts, and simulates
/// tens of candidates. Error: kTooManyStages.
Result<partition::Cuts> cuts_by_time(const PipelineProblem& problem);

/// The min-max of what no recomputation spares: static bytes and what a recomputing layer keeps of
/// the micro-batches that the first stage holds.
partition::Cuts cuts_by_bytes(const PipelineProblem& problem);

/// Recomputation by BAR for `cuts`. Error: kMemoryInfeasible.
Result<PipelineChoice> recompute_within_memory(const PipelineProblem& problem,
                                               partition::Cuts cuts);

/// As choose_pipeline, with cuts_by_time.
Result<PipelineChoice> choose_quickly(const PipelineProblem& problem);

/// Cuts and recomputation of the problem chosen together, for `layers` of its shape. Both must
/// outlive it.
joint::JointProblem joint_problem(const PipelineProblem& problem,
                                  std::span<const joint::JointLayer> layers);

/// The error with what helps a plan: the number of stages is its pp.
Error with_plan_hint(Error does_not_fit);

/// Stages of the plan's cuts, and their ranks, with a full pack in every micro-batch.
simulate::RankedStages stages_at_caps(const Plan& plan, const PipelineProblem& problem);

/// The fullest rank's peak with a full pack in every micro-batch.
std::int64_t fullest_rank_bytes(const PipelineProblem& problem, const PipelineChoice& choice);

/// The load of a pack at both caps, one segment long: the worst that a pack can be.
cost::Load full_pack(const pack::PackLimits& limits);

}  // namespace omnibal::plan
