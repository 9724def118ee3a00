// SPDX-License-Identifier: Apache-2.0
//
// Tape: what a stage keeps of one micro-batch between forward and backward: the input of each
// layer, and of the layers that are not recomputed what their backward needs. A recomputed layer
// runs forward again, from the same input by the same operations, so gradients are bit-equal.
//
//   Tape tape;
//   const at::Tensor y = run_forward(stage, x, pass, recompute, tape);   // recompute[layer]
//   const at::Tensor dx = run_backward(stage, dy, pass, tape);           // and parameters' grad()
//
// Not for several micro-batches at once: each has its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {

class Tape {
 public:
  bool empty() const { return layers_.empty(); }

 private:
  struct Kept {
    at::Tensor input;   // a leaf; undefined in front of the patch embedding
    at::Tensor output;  // with its graph; undefined: recomputed
  };
  std::vector<Kept> layers_;

  friend at::Tensor run_forward(const Stage&, const at::Tensor&, const Pass&,
                                const std::vector<bool>&, Tape&);
  friend at::Tensor run_backward(const Stage&, const at::Tensor&, const Pass&, Tape&);
};

/// `recompute`: one a layer of the stage. Returns the last layer's output, without graph.
at::Tensor run_forward(const Stage& stage, const at::Tensor& input, const Pass& pass,
                       const std::vector<bool>& recompute, Tape& tape);

/// From the gradient of the stage's output (of the head's scalar: what a loss of 1 counts) to that
/// of its input, which is undefined in front of the patch embedding and where nothing before needs
/// it. Adds to the parameters' gradients; empties the tape.
at::Tensor run_backward(const Stage& stage, const at::Tensor& gradient, const Pass& pass,
                        Tape& tape);

}  // namespace omnibal::runtime
