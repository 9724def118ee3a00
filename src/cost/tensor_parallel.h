// SPDX-License-Identifier: Apache-2.0
//
// What tensor parallelism beyond tp 2 adds to a layer's time: its collectives take longer.
#pragma once

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// Bytes of the tensors that a layer's forward sums over its tensor-parallel group: behind
/// attention and behind the MLP of a block (arXiv 1909.08053, section 3), behind the projector's
/// second matrix and a split embedding. Attention whose heads are replicated sums nothing.
LinearCost all_reduced_bytes(const model::ModelSpec& model, model::LayerKind kind,
                             const AnalyticOptions& options);

/// Adds to forward, input gradient (which sums as many bytes; those inside a layer with nothing
/// trainable before it count among its weight gradient) and recomputation of `layer` what a ring
/// over `tp` devices takes longer than one over two: 2 (tp - 1) / tp of the bytes pass each hop,
/// the first 1 of it is inside the rate fitted at tp 2 (docs/methods/cost.md). Nothing up to tp 2.
/// Sequence parallelism moves the same bytes in two halves.
void add_tensor_parallel_seconds(const LinearCost& bytes, std::int64_t tp,
                                 const cluster::Link& link, bool trains_before,
                                 LayerProfile& layer);

}  // namespace omnibal::cost
