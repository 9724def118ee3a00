// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/tape.h"

#include <c10/core/GradMode.h>

namespace omnibal::runtime {
namespace {

/// Something in the layer trains.
bool trains(const Stage& stage, std::size_t index) {
  const std::int64_t layer = stage.options.first + static_cast<std::int64_t>(index);
  for (const Parameter& parameter : stage.parameters) {
    if (parameter.layer == layer && parameter.tensor.requires_grad()) return true;
  }
  return false;
}

/// A leaf of a layer's own graph: the graph of the layer before ends here.
at::Tensor leaf(const at::Tensor& value, bool needs_gradient) {
  return value.defined() ? value.detach().set_requires_grad(needs_gradient) : value;
}

}  // namespace

at::Tensor run_forward(const Stage& stage, const at::Tensor& input, const Pass& pass,
                       const std::vector<bool>& recompute, Tape& tape) {
  at::Tensor value = input;
  bool needs_gradient = input.defined() && input.requires_grad();
  for (std::size_t i = 0; i < stage.layers.size(); ++i) {
    Tape::Kept kept{.input = leaf(value, needs_gradient), .output = {}};
    needs_gradient = needs_gradient || trains(stage, i);
    const bool graph = needs_gradient && !recompute[i];
    const c10::AutoGradMode mode(graph);
    const at::Tensor output = forward(stage.layers[i], kept.input, pass);
    if (graph) kept.output = output;
    value = output.detach();
    tape.layers_.push_back(std::move(kept));
  }
  return value;
}

at::Tensor run_backward(const Stage& stage, const at::Tensor& gradient, const Pass& pass,
                        Tape& tape) {
  at::Tensor flowing = gradient;
  for (std::size_t i = stage.layers.size(); i-- > 0;) {
    Tape::Kept kept = std::move(tape.layers_[i]);
    tape.layers_.pop_back();
    if (!flowing.defined()) continue;
    if (!kept.output.defined()) {
      const c10::AutoGradMode mode(true);
      kept.output = forward(stage.layers[i], kept.input, pass);
    }
    if (!kept.output.requires_grad()) {  // nothing trains from here to the front
      flowing.reset();
      continue;
    }
    kept.output.backward(flowing);
    flowing = kept.input.defined() ? kept.input.grad() : at::Tensor();
  }
  return flowing;
}

}  // namespace omnibal::runtime
