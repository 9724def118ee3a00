// SPDX-License-Identifier: Apache-2.0
//
// FLOPs, parameters and bytes of one layer on one device, by formula (docs/methods/cost.md).
#pragma once

#include "omnibal/cost/analytic.h"

namespace omnibal::cost {

struct LayerDemand {
  LinearCost flops;              // of the forward
  double device_parameters = 0;  // that the device holds
  LinearCost activation_bytes, recomputed_bytes, boundary_bytes;
};

/// `index_in_kind`: of the vision block, the LLM block, ...
LayerDemand layer_demand(const model::ModelSpec& model, model::LayerKind kind,
                         std::int64_t index_in_kind, const AnalyticOptions& options);

}  // namespace omnibal::cost
