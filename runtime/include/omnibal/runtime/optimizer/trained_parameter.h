// SPDX-License-Identifier: Apache-2.0
//
// TrainedParameter: a parameter as the optimizer sees it, whatever model it belongs to.
//
//   TrainedParameter parameter = {.name = "language_model.model.norm.weight", .tensor = weight};
//   parameter.group = *groups.of_parameter[i];
//   parameter.counted = block_of(weight.sizes(), 0, owned.begin, owned.count);   // not replicas
//
// Not for frozen parameters: leave them out, and `requires_grad` off.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::runtime {

/// Elements [begin, end) of a flattened tensor.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

/// The elements of a tensor of `sizes` whose index in `dimension` is in [begin, begin + count), as
/// few ranges as they are.
std::vector<ElementRange> block_of(at::IntArrayRef sizes, std::int64_t dimension,
                                   std::int64_t begin, std::int64_t count);

struct TrainedParameter {
  std::string name;
  at::Tensor tensor;      // contiguous leaf; its memory is moved into the optimizer's
  std::size_t group = 0;  // index into the optimizer's GroupSettings
  /// What this rank counts into the global norm: each element of the model is counted by one rank
  /// of its tensor-parallel group and by one owner of a tied pair. Ascending, disjoint.
  std::vector<ElementRange> counted;
  /// How often one backward adds to the gradient: 2 where two layers that share a parameter have
  /// their own backward.
  int uses = 1;
  /// Adds what the other ranks of this model replica have of the same elements (replicated over tp,
  /// tied over pp), in place. Called once a step behind all backward passes, parameter by parameter
  /// in their order, on each rank. Empty: there is none.
  std::function<Status(const at::Tensor& gradient)> sum_over_model;
};

}  // namespace omnibal::runtime
