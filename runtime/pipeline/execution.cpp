// SPDX-License-Identifier: Apache-2.0
#include "pipeline/execution.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>

namespace omnibal::runtime {
namespace {

using schedule::Action;
using schedule::ActionKind;

/// Receives that are under way beside computation: each has a buffer that no plan counts.
constexpr std::size_t kReceivesAhead = 1;
constexpr std::size_t kElsewhere = static_cast<std::size_t>(-1);

bool is_receive(ActionKind kind) {
  return kind == ActionKind::kReceiveActivation || kind == ActionKind::kReceiveGradient;
}

}  // namespace

Execution::Execution(const Pipeline& pipeline, Communicator& pp, const PipelineCalls& calls)
    : pipeline_(pipeline),
      calls_(calls),
      actions_(pipeline.schedule.ranks[static_cast<std::size_t>(pp.rank())]),
      split_(schedule::has_weight_grads(pipeline.schedule)),
      transfers_(pipeline.schedule, pp),
      batches_(actions_, pipeline.schedule.num_micro_batches, calls.load),
      own_(static_cast<std::size_t>(pipeline.schedule.num_stages), kElsewhere),
      held_(pipeline.stages.size() * static_cast<std::size_t>(pipeline.schedule.num_micro_batches)),
      num_held_(pipeline.stages.size()) {
  report_.most_held.resize(pipeline.stages.size());
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    own_[static_cast<std::size_t>(pipeline.stages[i].index.value())] = i;
  }
}

Status Execution::run() {
  for (const Action& action : actions_) {
    if (calls_.on_action) calls_.on_action(action);
    transfers_.release_sent();
    OMNIBAL_RETURN_IF_ERROR(begin_receives());
    OMNIBAL_RETURN_IF_ERROR(run_action(action));
    batches_.used(action.micro_batch);
  }
  return transfers_.finish();
}

Status Execution::begin_receives() {
  for (; next_receive_ < actions_.size() && transfers_.num_expected() < kReceivesAhead;
       ++next_receive_) {
    const Action& action = actions_[next_receive_];
    if (!is_receive(action.kind) || !crosses(action)) continue;
    OMNIBAL_ASSIGN(const PreparedBatch* const batch, batches_.get(action.micro_batch));
    const Stage& stage = stage_of(action).stage;
    const bool front = action.kind == ActionKind::kReceiveActivation;
    transfers_.expect(action,
                      boundary(stage, front ? stage.options.first : stage.options.end, *batch));
  }
  return {};
}

Status Execution::run_action(const Action& action) {
  Held& held = held_by(action);
  switch (action.kind) {
    case ActionKind::kForward:
      return forward(action);
    case ActionKind::kBackward:
      return backward(action);
    case ActionKind::kWeightGrad:
      held.later.flush();
      release(action);
      return {};
    case ActionKind::kSendActivation:
      transfers_.send(action, std::exchange(held.output, {}));
      return {};
    case ActionKind::kReceiveActivation: {
      OMNIBAL_ASSIGN(held.input, transfers_.take(action));
      return {};
    }
    case ActionKind::kSendGradient:
      if (crosses(action)) transfers_.send(action, std::exchange(held.input_gradient, {}));
      return {};
    case ActionKind::kReceiveGradient:
      if (!crosses(action)) return {};
      OMNIBAL_ASSIGN(held.output_gradient, transfers_.take(action));
      return {};
  }
  return {};
}

Status Execution::forward(const Action& action) {
  const PipelineStage& own = stage_of(action);
  Held& held = held_by(action);
  OMNIBAL_ASSIGN(const PreparedBatch* const batch, batches_.get(action.micro_batch));
  at::Tensor input = std::exchange(held.input, {});
  if (input.defined()) input.set_requires_grad(trains_before(own));
  at::Tensor output =
      run_forward(own.stage, input, pass_of(action, *batch), own.recompute, held.tape);
  const std::size_t stage = own_[static_cast<std::size_t>(action.stage.value())];
  report_.most_held[stage] = std::max(report_.most_held[stage], ++num_held_[stage]);
  if (has_head(own)) {
    report_.loss += output.to(at::kDouble).item<double>();
    held.output_gradient = at::ones({}, output.options());
  } else if (Held* const next = neighbour(action, 1)) {
    next->input = std::move(output);
  } else {
    held.output = std::move(output);
  }
  return {};
}

Status Execution::backward(const Action& action) {
  const PipelineStage& own = stage_of(action);
  Held& held = held_by(action);
  OMNIBAL_ASSIGN(const PreparedBatch* const batch, batches_.get(action.micro_batch));
  at::Tensor gradient = run_backward(own.stage, std::exchange(held.output_gradient, {}),
                                     pass_of(action, *batch), held.tape);
  if (!split_) release(action);
  if (!trains_before(own)) return {};
  if (!gradient.defined()) gradient = boundary(own.stage, own.stage.options.first, *batch).zero_();
  Held* const previous = neighbour(action, -1);
  (previous != nullptr ? previous->output_gradient : held.input_gradient) = std::move(gradient);
  return {};
}

void Execution::release(const Action& action) {
  --num_held_[own_[static_cast<std::size_t>(action.stage.value())]];
}

const PipelineStage& Execution::stage_of(const Action& action) const {
  return pipeline_.stages[own_[static_cast<std::size_t>(action.stage.value())]];
}

Execution::Held& Execution::held_by(std::size_t stage, MicroBatchIndex micro_batch) {
  const auto width = static_cast<std::size_t>(pipeline_.schedule.num_micro_batches);
  return held_[stage * width + static_cast<std::size_t>(micro_batch.value())];
}

Execution::Held& Execution::held_by(const Action& action) {
  return held_by(own_[static_cast<std::size_t>(action.stage.value())], action.micro_batch);
}

Execution::Held* Execution::neighbour(const Action& action, int step) {
  const std::size_t stage = own_[static_cast<std::size_t>(action.stage.value() + step)];
  return stage == kElsewhere ? nullptr : &held_by(stage, action.micro_batch);
}

Pass Execution::pass_of(const Action& action, const PreparedBatch& batch) {
  WeightGradients* const later = split_ ? &held_by(action).later : nullptr;
  if (later != nullptr) later->report_to(calls_.deferral);
  return {batch, stage_of(action).stage.options.group, later};
}

bool Execution::trains_before(const PipelineStage& stage) const {
  return pipeline_.first_trained < stage.stage.options.first;
}

bool Execution::trains_within_or_before(const PipelineStage& stage) const {
  return pipeline_.first_trained < stage.stage.options.end;
}

bool Execution::crosses(const Action& action) const {
  const PipelineStage& stage = stage_of(action);
  if (action.kind == ActionKind::kReceiveGradient) return trains_within_or_before(stage);
  if (action.kind == ActionKind::kSendGradient) return trains_before(stage);
  return true;
}

bool Execution::has_head(const PipelineStage& stage) const {
  return stage.index.value() + 1 == pipeline_.schedule.num_stages;
}

at::Tensor Execution::boundary(const Stage& stage, std::int64_t layer,
                               const PreparedBatch& batch) const {
  return at::empty(output_shape(stage.config, layer - 1, batch, stage.options.group),
                   stage.options.type);
}

}  // namespace omnibal::runtime
