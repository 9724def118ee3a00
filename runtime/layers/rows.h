// SPDX-License-Identifier: Apache-2.0
//
// Rows between ranks, without automatic differentiation: what the differentiable operations are
// made of. A null group is one rank, whose rows are all.
//
//   const at::Tensor all_ND = gathered_rows(part_MD, num_rows, group);
//   const at::Tensor part_MD = scattered_sum(partial_ND, group);
//
// Not for layers: tensor_group.h.
#pragma once

#include "omnibal/runtime/layers/tensor_group.h"

namespace omnibal::runtime {

/// With rows of zeros below, so that each rank has as many.
at::Tensor padded_rows(const at::Tensor& rows, const TensorGroup& group);
at::Tensor gathered_rows(const at::Tensor& part, std::int64_t rows, const TensorGroup* group);
at::Tensor scattered_sum(const at::Tensor& partial, const TensorGroup* group);

}  // namespace omnibal::runtime
