// SPDX-License-Identifier: Apache-2.0
//
// Pipeline: one rank's stages and the action lists of a schedule, executed: forwards, backwards and
// deferred weight gradients in the list's order; sends that nobody waits for; receives that begin
// ahead of the action that needs them.
//
//   const Pipeline pipeline{lower(schedule), std::move(stages), first_trained};
//   OMNIBAL_ASSIGN(const PipelineReport report, run_pipeline(pipeline, *groups.pp, calls));
//   report.loss;            // of the micro-batches, where the head is; 0 elsewhere
//
// Not a choice of the order (schedule/schedule.h) and not the optimizer's step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/model/recompute.h"
#include "omnibal/runtime/model/stage.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::runtime {

struct PipelineStage {
  StageIndex index;
  Stage stage;
  std::vector<Recompute> recompute;  // by layer of the stage
};

struct Pipeline {
  schedule::Schedule schedule;        // lowered
  std::vector<PipelineStage> stages;  // that this rank runs, ascending
  /// Of the whole model: nothing in front of this layer trains, so that no gradient goes there.
  std::int64_t first_trained = 0;
};

/// What a step of the pipeline asks and tells; only `load` must be there.
struct PipelineCalls {
  /// Once a micro-batch, in the order of micro_batch_order. It is dropped behind its last action.
  std::function<Result<PreparedBatch>(MicroBatchIndex)> load;
  DeferralCalls deferral = {};
  /// Before each action.
  std::function<void(const schedule::Action&)> on_action = {};
};

struct PipelineReport {
  double loss = 0;  // the sum over micro-batches of the head's scalar
  /// By stage of this rank: most micro-batches whose activations it held at once.
  std::vector<std::int64_t> most_held;
};

/// Micro-batches in the order in which a rank first needs them.
std::vector<MicroBatchIndex> micro_batch_order(const std::vector<schedule::Action>& actions);

/// Runs the list of rank `pp.rank()`, to whom every rank of `pp` corresponds; gradients are added
/// to those that parameters have. An error ends the waits of all ranks. Errors: those of `load` and
/// of the communicator; kInternal where libtorch fails.
Result<PipelineReport> run_pipeline(const Pipeline& pipeline, Communicator& pp,
                                    const PipelineCalls& calls);

}  // namespace omnibal::runtime
