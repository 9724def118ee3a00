// SPDX-License-Identifier: Apache-2.0
//
// Execution: one step of one rank's actions, with what its stages hold of their micro-batches.
//
//   Execution execution(pipeline, pp, calls);
//   OMNIBAL_RETURN_IF_ERROR(execution.run());
//   execution.report().loss;
//
// Not for a second step: one object each. Throws what libtorch throws.
#pragma once

#include "omnibal/runtime/model/tape.h"
#include "omnibal/runtime/pipeline/pipeline.h"
#include "pipeline/loaded_batches.h"
#include "pipeline/transfers.h"

namespace omnibal::runtime {

class Execution {
 public:
  Execution(const Pipeline& pipeline, Communicator& pp, const PipelineCalls& calls);
  Status run();
  const PipelineReport& report() const { return report_; }

 private:
  /// Of one stage and micro-batch.
  struct Held {
    at::Tensor input, output;                    // between stages, before and behind the forward
    at::Tensor output_gradient, input_gradient;  // before and behind the backward
    Tape tape;
    WeightGradients later;
  };

  Status run_action(const schedule::Action& action);
  Status begin_receives();
  Status forward(const schedule::Action& action);
  Status backward(const schedule::Action& action);
  void release(const schedule::Action& action);

  const PipelineStage& stage_of(const schedule::Action& action) const;
  Held& held_by(std::size_t stage, MicroBatchIndex micro_batch);
  Held& held_by(const schedule::Action& action);
  /// Of the stage `step` further, if this rank runs it.
  Held* neighbour(const schedule::Action& action, int step);
  Pass pass_of(const schedule::Action& action, const PreparedBatch& batch);
  /// A gradient crosses the boundary in front of the stage (behind it).
  bool trains_before(const PipelineStage& stage) const;
  bool trains_within_or_before(const PipelineStage& stage) const;
  bool crosses(const schedule::Action& action) const;
  bool has_head(const PipelineStage& stage) const;
  /// A tensor as the boundary in front of `layer` has it.
  at::Tensor boundary(const Stage& stage, std::int64_t layer, const PreparedBatch& batch) const;

  const Pipeline& pipeline_;
  const PipelineCalls& calls_;
  const std::vector<schedule::Action>& actions_;
  const bool split_;  // weight gradients come later
  Transfers transfers_;
  LoadedBatches batches_;
  std::vector<std::size_t> own_;  // by stage of the pipeline: index into pipeline_.stages
  std::vector<Held> held_;        // [own stages, micro-batches]
  std::vector<std::int64_t> num_held_;
  std::size_t next_receive_ = 0;  // in actions_: none before it is yet to begin
  PipelineReport report_;
};

}  // namespace omnibal::runtime
