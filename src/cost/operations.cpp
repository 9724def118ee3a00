// SPDX-License-Identifier: Apache-2.0
#include "cost/operations.h"

#include <algorithm>

namespace omnibal::cost {
namespace {

/// What one operation keeps and which gradients it computes.
struct OperationBackward {
  bool input_gradient = false;
  bool keeps_input = false;
  bool output_has_gradient = false;
};

/// Calls `visit(operation, backward)` in order. A gradient reaches an operation's input if anything
/// before it trains.
template <class Visit>
void for_each_backward(const std::vector<Operation>& operations, bool trains_before,
                       const Visit& visit) {
  bool reaches = trains_before;
  for (const Operation& operation : operations) {
    const bool own = operation.trains || operation.has_adapter();
    OperationBackward backward{.input_gradient = reaches, .output_has_gradient = reaches || own};
    switch (operation.kept_for) {
      case KeptFor::kBackward:
        backward.keeps_input = reaches || own;
        break;
      case KeptFor::kWeights:
        backward.keeps_input = own;
        break;
      case KeptFor::kWeightsUnlessShared:
        backward.keeps_input = own && !reaches;
        break;
    }
    visit(operation, backward);
    reaches = backward.output_has_gradient;
  }
}

LinearCost larger_terms(const LinearCost& a, const LinearCost& b) {
  return {std::max(a.constant, b.constant), std::max(a.per_vision_unit, b.per_vision_unit),
          std::max(a.per_token, b.per_token), std::max(a.per_token_pair, b.per_token_pair)};
}

}  // namespace

LinearCost Operation::forward_flops() const {
  LinearCost sum = flops;
  sum += adapter_in_flops;
  sum += adapter_out_flops;
  return sum;
}

LinearCost forward_flops(const std::vector<Operation>& operations) {
  LinearCost sum;
  for (const Operation& operation : operations) sum += operation.forward_flops();
  return sum;
}

BackwardDemand backward_demand(const std::vector<Operation>& operations, bool trains_before) {
  BackwardDemand demand;
  LinearCost inner;
  for_each_backward(operations, trains_before, [&](const Operation& op, OperationBackward b) {
    if (b.input_gradient) {
      inner += op.input_gradient * op.flops;
      inner += op.adapter_in_flops;
    }
    inner += op.adapter_out_flops;  // to x A, whose gradient A needs
    if (op.trains) demand.weight_gradient_flops += op.flops;
    demand.weight_gradient_flops += op.adapter_in_flops;
    demand.weight_gradient_flops += op.adapter_out_flops;
    if (b.keeps_input) demand.kept_bytes += op.kept_bytes;
    if (b.output_has_gradient) demand.kept_bytes += op.output_bytes;
    demand.kept_bytes += op.adapter_bytes;
  });
  (trains_before ? demand.input_gradient_flops : demand.weight_gradient_flops) += inner;
  return demand;
}

RegionDemand region_demand(const std::vector<Operation>& operations, bool trains_before,
                           const std::vector<Region>& regions) {
  RegionDemand demand;
  for (const Region region : regions) {
    LinearCost rebuilt;
    LinearCost flops;
    for_each_backward(operations, trains_before, [&](const Operation& op, OperationBackward b) {
      if (op.region != region) return;
      if (b.keeps_input) rebuilt += op.kept_bytes;
      if (!op.reruns) return;
      rebuilt += op.adapter_bytes;
      flops += op.forward_flops();
    });
    if (!rebuilt.is_zero()) demand.flops += flops;
    demand.rebuilt_bytes = larger_terms(demand.rebuilt_bytes, rebuilt);
  }
  for_each_backward(operations, trains_before, [&](const Operation& op, OperationBackward b) {
    const bool rebuilt = std::ranges::find(regions, op.region) != regions.end();
    if (b.keeps_input && !rebuilt) demand.kept_bytes += op.kept_bytes;
    if (b.output_has_gradient) demand.kept_bytes += op.output_bytes;
    if (!(rebuilt && op.reruns)) demand.kept_bytes += op.adapter_bytes;
  });
  return demand;
}

}  // namespace omnibal::cost
