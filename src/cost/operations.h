// SPDX-License-Identifier: Apache-2.0
//
// A layer as the list of operations that automatic differentiation sees: what each costs, what its
// backward needs, and what is therefore kept. One rule for layers that train, frozen ones and those
// with adapters (docs/methods/cost.md).
#pragma once

#include <string>
#include <vector>

#include "omnibal/cost/profile.h"

namespace omnibal::cost {

inline constexpr double kBf16 = 2;  // bytes of a value

inline double d(std::int64_t number) { return static_cast<double>(number); }

/// What an operation keeps its input for.
enum class KeptFor {
  kBackward,            // any backward: norms, attention, activation functions
  kWeights,             // the gradient of its weights alone: linear layers
  kWeightsUnlessShared  // the same; the operation before may have kept it already
};

/// Which selective recomputation rebuilds it.
enum class Region { kNone, kAttention, kMlp };

/// On one device; FLOPs are of the forward.
struct Operation {
  LinearCost flops;
  double input_gradient = 1;  // its input gradient costs this many forwards
  bool trains = false;        // its own weights
  LinearCost kept_bytes;      // its input
  KeptFor kept_for = KeptFor::kBackward;
  LinearCost output_bytes = {};  // kept besides, if its output has a gradient: dropout mask, logits
  Region region = Region::kNone;  // that rebuilds kept_bytes
  bool reruns = false;            // with that region
  // Adapters: x A and that times B.
  LinearCost adapter_in_flops = {}, adapter_out_flops = {};
  LinearCost adapter_bytes = {};  // x A

  bool has_adapter() const { return !adapter_in_flops.is_zero(); }
  LinearCost forward_flops() const;
};

/// A part of a layer that recomputes: FLOPs, bytes kept instead of everything, bytes rebuilt.
struct RegionDemand {
  LinearCost flops, kept_bytes, rebuilt_bytes;
};

struct BackwardDemand {
  LinearCost input_gradient_flops;   // needed by layers before
  LinearCost weight_gradient_flops;  // if no layer before trains, with all gradients inside
  LinearCost kept_bytes;
};

LinearCost forward_flops(const std::vector<Operation>& operations);
/// Backward of `operations` in a chain (residual connections do not change it). `trains_before`: a
/// layer before has something that trains. O(operations).
BackwardDemand backward_demand(const std::vector<Operation>& operations, bool trains_before);
/// `regions` recompute, one at a time.
RegionDemand region_demand(const std::vector<Operation>& operations, bool trains_before,
                           const std::vector<Region>& regions);

}  // namespace omnibal::cost
