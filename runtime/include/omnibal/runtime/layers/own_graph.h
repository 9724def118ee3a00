// SPDX-License-Identifier: Apache-2.0
//
// A graph of automatic differentiation of its own: where it starts, the gradient of its input ends;
// where it ends, its backward starts. Neither holds a value, so that nothing is kept but what the
// operations between them keep.
//
//   GraphStart start;
//   GraphEnd end(f(start.begin(x, /*needs_gradient=*/true)));
//   end.backward(dy);                           // and parameters' grad()
//   const at::Tensor dx = start.take_gradient();
//
// Not for a graph that is used twice.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

namespace omnibal::runtime {

class GraphStart {
 public:
  /// `value`, which may be undefined, as an input of the graph.
  at::Tensor begin(const at::Tensor& value, bool needs_gradient);
  /// Undefined where no gradient arrived or none was needed.
  at::Tensor take_gradient();

 private:
  c10::intrusive_ptr<c10::intrusive_ptr_target> node_;  // of torch::autograd
};

class GraphEnd {
 public:
  GraphEnd() = default;
  explicit GraphEnd(const at::Tensor& output);

  /// Nothing where the output has no graph. Frees what the graph keeps as it goes.
  void backward(const at::Tensor& gradient);

 private:
  c10::intrusive_ptr<c10::intrusive_ptr_target> node_;  // of torch::autograd
  std::uint32_t output_number_ = 0;
};

}  // namespace omnibal::runtime
