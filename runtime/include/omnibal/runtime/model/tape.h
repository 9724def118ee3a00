// SPDX-License-Identifier: Apache-2.0
//
// Tape: what a stage keeps of one micro-batch between forward and backward: of a layer that
// recomputes its input, of others what the operations that do not run again need, of layers without
// backward nothing. What recomputes runs forward again, from the same values by the same
// operations, so gradients are bit-equal.
//
//   Tape tape;
//   const at::Tensor y = run_forward(stage, x, pass, recompute, tape);   // recompute[layer]
//   const at::Tensor dx = run_backward(stage, dy, pass, tape);           // and parameters' grad()
//
// Not for several micro-batches at once: each has its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "omnibal/runtime/layers/own_graph.h"
#include "omnibal/runtime/model/recompute.h"
#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {

class Tape {
 public:
  bool empty() const { return layers_.empty(); }

 private:
  struct Kept {
    at::Tensor input;  // of a layer that recomputes everything
    bool input_needs_gradient = false;
    bool recomputes = false;
    GraphStart start;
    GraphEnd end;
  };
  std::vector<Kept> layers_;

  friend at::Tensor run_forward(const Stage&, const at::Tensor&, const Pass&,
                                const std::vector<Recompute>&, Tape&);
  friend at::Tensor run_backward(const Stage&, const at::Tensor&, const Pass&, Tape&);
};

/// `recompute`: one a layer of the stage. Returns the last layer's output, without graph.
at::Tensor run_forward(const Stage& stage, const at::Tensor& input, const Pass& pass,
                       const std::vector<Recompute>& recompute, Tape& tape);

/// From the gradient of the stage's output (of the head's scalar: what a loss of 1 counts) to that
/// of its input, which is undefined in front of the patch embedding and where nothing before needs
/// it. Adds to the parameters' gradients; empties the tape.
at::Tensor run_backward(const Stage& stage, const at::Tensor& gradient, const Pass& pass,
                        Tape& tape);

}  // namespace omnibal::runtime
