// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/parameter.h"

#include <algorithm>

namespace omnibal::runtime {

Range share_of(std::int64_t total, std::int64_t rank, std::int64_t size) {
  const std::int64_t each = (total + size - 1) / size;
  const std::int64_t begin = std::min(rank * each, total);
  return {begin, std::min(each, total - begin)};
}

void sum_over_ranks(const Parameter& parameter, const at::Tensor& gradient,
                    const TensorGroup& group) {
  if (!parameter.shared) return;
  const std::int64_t dimension = parameter.split_dimension;
  if (parameter.held.count == parameter.shape[static_cast<std::size_t>(dimension)] &&
      gradient.is_contiguous()) {
    group.all_reduce_sum(gradient);
    return;
  }
  // Ranges of several ranks overlap: they meet in a tensor of the whole.
  const at::Tensor whole = gradient.new_zeros(parameter.shape);
  const at::Tensor own = whole.narrow(dimension, parameter.held.begin, parameter.held.count);
  own.copy_(gradient);
  group.all_reduce_sum(whole);
  gradient.copy_(own);
}

}  // namespace omnibal::runtime
