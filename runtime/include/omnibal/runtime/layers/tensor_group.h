// SPDX-License-Identifier: Apache-2.0
//
// TensorGroup: the tensor-parallel ranks that share every layer, and the operations by which a
// layer's tensors pass between "rows spread over the ranks" (norms, residuals, cuts) and "all rows
// on each rank" (linear layers, attention): sequence parallelism (arXiv 2205.05198).
// Differentiable.
//
//   const at::Tensor all_ND = gather_rows(part_MD, num_rows, group);        // N = num_rows
//   const at::Tensor part_MD = scatter_sum(partial_ND, group);              // sum over ranks, own
//   M const at::Tensor same = gather_rows(x, x.size(0), nullptr);             // one rank: x itself
//
// Not the transport: an implementation sends through a Communicator.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace omnibal::runtime {

/// Reductions add in the order of ranks: the same result on each, at each run.
class TensorGroup {
 public:
  virtual ~TensorGroup() = default;
  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  /// In place; contiguous.
  virtual void all_reduce_sum(const at::Tensor& tensor) const = 0;
  virtual void all_reduce_max(const at::Tensor& tensor) const = 0;
  /// Parts of equal shape one below the other, by rank.
  virtual at::Tensor all_gather(const at::Tensor& part) const = 0;
  /// The sum's own part of size(0) / size() rows.
  virtual at::Tensor reduce_scatter(const at::Tensor& whole) const = 0;
};

/// Size and rank where no group (nullptr) is one rank.
std::int64_t size_of(const TensorGroup* group);
std::int64_t rank_of(const TensorGroup* group);

/// Rows that each rank holds of `rows`: the last ones are padded with rows of zeros.
std::int64_t rows_per_rank(std::int64_t rows, const TensorGroup* group);

/// All `rows` rows from each rank's part. Backward: the sum of the ranks' gradients, scattered.
at::Tensor gather_rows(const at::Tensor& part, std::int64_t rows, const TensorGroup* group);
/// The sum over ranks, of which each keeps its rows. Backward: the gradient's rows, gathered.
at::Tensor scatter_sum(const at::Tensor& partial, const TensorGroup* group);
/// The own rows of what each rank has computed whole. Backward: zero in other ranks' rows.
at::Tensor own_rows(const at::Tensor& whole, const TensorGroup* group);

}  // namespace omnibal::runtime
