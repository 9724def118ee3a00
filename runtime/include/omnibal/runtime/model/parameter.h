// SPDX-License-Identifier: Apache-2.0
//
// Parameter: a tensor that training changes, or that a checkpoint must keep: its name in files, its
// whole shape, and the part of it that this tensor-parallel rank holds.
//
//   for (const Parameter& parameter : stage.parameters) parameter.tensor.grad();
//   sum_over_ranks(parameter, gradient, *group);     // of those that several ranks hold
//   share_of(25, 1, 2);                              // {13, 12}: heads of the second of two ranks
//
// Not an optimizer's state.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/runtime/layers/tensor_group.h"

namespace omnibal::runtime {

/// `count` indices from `begin`.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return begin + count; }
  bool operator==(const Range&) const = default;
};

/// What rank `rank` of `size` has of `total`: ceil(total / size) each, fewer for the last ones.
/// That is the planner's rule for heads that do not divide (docs/methods/cost.md, `--heads pad`),
/// without computing the empty heads.
Range share_of(std::int64_t total, std::int64_t rank, std::int64_t size);

struct Parameter {
  std::string name;                 // as in files
  std::vector<std::int64_t> shape;  // whole
  std::int64_t layer = 0;           // of ModelConfig::spec.layers
  std::int64_t split_dimension = 0;
  Range held = {};   // of that dimension: what `tensor` is
  Range owned = {};  // among them: what no lower rank holds. Norms and files count these alone.
  /// Other ranks hold some of it too, so that gradients are sums over the ranks.
  bool shared = false;
  /// The loss depends on it. Others (blocks behind the chosen features) never change.
  bool reachable = true;
  /// Layers of the stage that use it, each with its own backward: 2 of a tied embedding whose
  /// stage has the head too.
  int uses = 1;
  /// The table of a tied embedding on the last stage, whose owner is the first.
  bool tied_copy = false;
  at::Tensor tensor = {};
};

/// Sums `gradient`, which has the shape of `parameter.tensor`, in place over the ranks that hold
/// the same elements. Every rank of the group calls it, for the same parameters in the same order.
void sum_over_ranks(const Parameter& parameter, const at::Tensor& gradient,
                    const TensorGroup& group);

}  // namespace omnibal::runtime
