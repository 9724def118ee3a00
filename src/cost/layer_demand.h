// SPDX-License-Identifier: Apache-2.0
//
// FLOPs, parameters and bytes of one layer on one device, by formula (docs/methods/cost.md).
#pragma once

#include <string>
#include <vector>

#include "cost/operations.h"
#include "omnibal/cost/analytic.h"

namespace omnibal::cost {

struct LayerDemand {
  LinearCost forward_flops, input_gradient_flops, weight_gradient_flops;
  double device_parameters = 0;  // that the device holds, without adapters
  double device_adapter_parameters = 0;
  LinearCost activation_bytes, recomputed_bytes, boundary_bytes;
  struct Choice {
    std::string name;
    RegionDemand region;
  };
  std::vector<Choice> choices;  // to recompute a part
};

/// Where a layer stands.
struct LayerPlace {
  model::LayerKind kind = model::LayerKind::kLlmBlock;
  std::int64_t index_in_kind = 0;  // of the vision block, the LLM block, ...
  bool trains_before = false;      // a layer before has something that trains
};

LayerDemand layer_demand(const model::ModelSpec& model, const LayerPlace& place,
                         const AnalyticOptions& options);

}  // namespace omnibal::cost
