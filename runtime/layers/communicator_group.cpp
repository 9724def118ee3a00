// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/communicator_group.h"

#include <ATen/ops/empty.h>

namespace omnibal::runtime {
namespace {

Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return Element::kF64;
    case at::kBFloat16:
      return Element::kBf16;
    default:
      return Element::kF32;
  }
}

void finish(Request request) {
  Status status = request.wait();
  if (!status.ok()) throw CommunicationFailure(std::move(status).error());
}

at::Tensor with_rows(const at::Tensor& like, std::int64_t rows) {
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape[0] = rows;
  return at::empty(shape, like.options());
}

void all_reduce(Communicator& communicator, const at::Tensor& tensor, Reduction reduction) {
  if (tensor.numel() == 0) return;
  finish(communicator.all_reduce(tensor.mutable_data_ptr(),
                                 static_cast<std::size_t>(tensor.numel()), element_of(tensor),
                                 reduction));
}

}  // namespace

void CommunicatorGroup::all_reduce_sum(const at::Tensor& tensor) const {
  all_reduce(communicator_, tensor, Reduction::kSum);
}

void CommunicatorGroup::all_reduce_max(const at::Tensor& tensor) const {
  all_reduce(communicator_, tensor, Reduction::kMax);
}

at::Tensor CommunicatorGroup::all_gather(const at::Tensor& part) const {
  const at::Tensor all = with_rows(part, part.size(0) * size());
  if (all.numel() == 0) return all;
  finish(communicator_.all_gather(part.const_data_ptr(), all.mutable_data_ptr(), part.nbytes()));
  return all;
}

at::Tensor CommunicatorGroup::reduce_scatter(const at::Tensor& whole) const {
  const at::Tensor part = with_rows(whole, whole.size(0) / size());
  if (whole.numel() == 0) return part;
  finish(communicator_.reduce_scatter(whole.const_data_ptr(), part.mutable_data_ptr(),
                                      static_cast<std::size_t>(part.numel()), element_of(whole),
                                      Reduction::kSum));
  return part;
}

}  // namespace omnibal::runtime
