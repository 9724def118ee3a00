// SPDX-License-Identifier: Apache-2.0
//
// A linear layer behind operations that may run again in the backward instead of keeping what they
// make: a part of a block that recomputes, with the layer whose input it rebuilds.
//
//   const Before attention{[&](const at::Tensor& x) { return attend(block, x); }, rebuilds};
//   const at::Tensor y = row_parallel(x, attention, block.output, group, later);
//
// Not for a layer whose result is not needed: it does not run again.
#pragma once

#include <functional>

#include "omnibal/runtime/layers/linear.h"

namespace omnibal::runtime {

struct Before {
  /// What it uses beside its input outlives the backward.
  std::function<at::Tensor(const at::Tensor&)> make;
  bool runs_again = false;
};

/// row_parallel(before.make(x), layer, group, later), bit-equal whether it runs again or not. If it
/// does, only x is kept.
at::Tensor row_parallel(const at::Tensor& x, const Before& before, const Linear& layer,
                        const TensorGroup* group, WeightGradients* later);

}  // namespace omnibal::runtime
