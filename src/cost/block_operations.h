// SPDX-License-Identifier: Apache-2.0
//
// The operations of a transformer block, with adapters where it has them, and the choices to
// recompute a part of it.
#pragma once

#include <vector>

#include "cost/attention_shares.h"
#include "cost/operations.h"
#include "omnibal/model/model.h"
#include "omnibal/model/parameters.h"

namespace omnibal::cost {

/// A block on one device of a tensor-parallel group.
struct BlockSpec {
  model::BlockWidths widths;
  AttentionShares shares;
  double tp = 1;
  LinearCost tokens;       // that run through it: {.per_token = 1}
  LinearCost score_flops;  // of attention beside its projections
  bool gated = false;
  bool qk_norm = false;      // between the projections and attention
  bool layer_scale = false;  // behind attention and MLP
  bool dropout = false;      // there too: a byte a value
  bool trains = true;        // its own weights
  const model::Adapters* adapters = nullptr;
};

/// Norm, q k v, their norms, attention, output, dropout, scale, norm, up (and gate), activation,
/// down, dropout, scale.
std::vector<Operation> block_operations(const BlockSpec& block);

/// Adapter parameters that the device holds: A of q, k, v, gate and up whole and B split, A of
/// output and down split and B whole.
double device_adapter_parameters(const BlockSpec& block);

}  // namespace omnibal::cost
