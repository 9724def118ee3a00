// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/own_graph.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace omnibal::runtime {
namespace {

/// A node without edges: what arrives stays.
struct InputGradient : torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    gradient = std::move(gradients[0]);
    return {};
  }

  at::Tensor gradient;
};

}  // namespace

at::Tensor GraphStart::begin(const at::Tensor& value, bool needs_gradient) {
  if (!value.defined() || !needs_gradient) return value.defined() ? value.detach() : value;
  at::Tensor input = value.variable_data();
  auto node = c10::make_intrusive<InputGradient>();
  const std::uint32_t number = node->add_input_metadata(input);
  torch::autograd::impl::set_gradient_edge(input, torch::autograd::Edge(node, number));
  node_ = std::move(node);
  return input;
}

at::Tensor GraphStart::take_gradient() {
  if (!node_) return {};
  return std::move(static_cast<InputGradient&>(*node_).gradient);
}

GraphEnd::GraphEnd(const at::Tensor& output) {
  if (!output.requires_grad()) return;
  torch::autograd::Edge edge = torch::autograd::impl::gradient_edge(output);
  node_ = std::move(edge.function);
  output_number_ = edge.input_nr;
}

void GraphEnd::backward(const at::Tensor& gradient) {
  if (!node_) return;
  const torch::autograd::Edge root(
      c10::static_intrusive_pointer_cast<torch::autograd::Node>(std::move(node_)), output_number_);
  torch::autograd::Engine::get_default_engine().execute(
      {root}, {gradient}, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/true);
}

}  // namespace omnibal::runtime
