// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transfers.h"

namespace omnibal::runtime {
namespace {

using schedule::Action;
using schedule::ActionKind;

bool is_activation(ActionKind kind) {
  return kind == ActionKind::kSendActivation || kind == ActionKind::kReceiveActivation;
}

/// The stage in front of the boundary that the action's tensor crosses.
std::int32_t boundary_of(const Action& action) {
  const bool before =
      action.kind == ActionKind::kReceiveActivation || action.kind == ActionKind::kSendGradient;
  return action.stage.value() - (before ? 1 : 0);
}

}  // namespace

int Transfers::tag_of(const Action& action) const {
  const int message = action.micro_batch.value() * schedule_.num_stages + boundary_of(action);
  return 2 * message + (is_activation(action.kind) ? 0 : 1);
}

int Transfers::peer_of(const Action& action) const {
  const std::int32_t front = boundary_of(action);
  const std::int32_t other = front == action.stage.value() ? front + 1 : front;
  return schedule::rank_of(schedule_, StageIndex{other}, action.micro_batch).value();
}

void Transfers::send(const Action& action, const at::Tensor& tensor) {
  at::Tensor kept = tensor.contiguous();
  Request request = pp_.send(kept.const_data_ptr(), kept.nbytes(), peer_of(action), tag_of(action));
  sent_.push_back({std::move(kept), std::move(request)});
}

void Transfers::expect(const Action& action, at::Tensor buffer) {
  Request request =
      pp_.receive(buffer.mutable_data_ptr(), buffer.nbytes(), peer_of(action), tag_of(action));
  expected_.emplace(tag_of(action), Transfer{std::move(buffer), std::move(request)});
}

Result<at::Tensor> Transfers::take(const Action& action) {
  const auto found = expected_.find(tag_of(action));
  OMNIBAL_RETURN_IF_ERROR(found->second.request.wait());
  at::Tensor tensor = std::move(found->second.tensor);
  expected_.erase(found);
  return tensor;
}

void Transfers::release_sent() {
  std::erase_if(sent_, [](const Transfer& transfer) { return transfer.request.done(); });
}

Status Transfers::finish() {
  for (Transfer& transfer : sent_) OMNIBAL_RETURN_IF_ERROR(transfer.request.wait());
  sent_.clear();
  return {};
}

}  // namespace omnibal::runtime
