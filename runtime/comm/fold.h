// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a reduction: the ranks' values folded in the order of the ranks, whatever the
// backend and whoever came first.
//
//   const std::vector<const void*> parts = {rank0, rank1, rank2};
//   fold_in_rank_order(parts, out, count, Element::kBf16, Reduction::kSum);
//   // out[i] = (rank0[i] + rank1[i]) + rank2[i], in fp32, rounded once
//
// Not a tree: its shape would depend on the number of ranks and on the backend.
#pragma once

#include <cstddef>
#include <span>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// `out` may be one of the parts; there is at least one. A NaN is the largest value.
void fold_in_rank_order(std::span<const void* const> parts, void* out, std::size_t count,
                        Element element, Reduction reduction);

}  // namespace omnibal::runtime
