// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/tape.h"

#include <c10/core/GradMode.h>

#include <utility>

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

}  // namespace

at::Tensor run_forward(const Stage& stage, const at::Tensor& input, const Pass& pass,
                       const std::vector<Recompute>& recompute, Tape& tape) {
  at::Tensor value = input;
  bool needs_gradient = input.defined() && input.requires_grad();
  for (std::size_t i = 0; i < stage.layers.size(); ++i) {
    Tape::Kept kept;
    kept.input_needs_gradient = needs_gradient;
    needs_gradient = needs_gradient || trains(stage, i);
    kept.recomputes = needs_gradient && recompute[i] == Recompute::kEverything;
    if (kept.recomputes && value.defined()) kept.input = value.detach();
    const c10::AutoGradMode mode(needs_gradient && !kept.recomputes);
    Pass own = pass;
    own.recompute = recompute[i];
    const bool starts_graph = kept.input_needs_gradient && !kept.recomputes;
    const at::Tensor output = forward(stage.layers[i], kept.start.begin(value, starts_graph), own);
    kept.end = GraphEnd(output);
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
    if (kept.recomputes) {
      const c10::AutoGradMode mode(true);
      const at::Tensor input = std::exchange(kept.input, {});
      kept.end = GraphEnd(
          forward(stage.layers[i], kept.start.begin(input, kept.input_needs_gradient), pass));
    }
    kept.end.backward(flowing);
    flowing = kept.start.take_gradient();  // none: nothing trains from here to the front
  }
  return flowing;
}

}  // namespace omnibal::runtime
