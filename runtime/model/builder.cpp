// SPDX-License-Identifier: Apache-2.0
#include "model/builder.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace omnibal::runtime {

Division LayerBuilder::divide(std::int64_t total, std::int64_t width) const {
  const Range share = share_of(total, rank(), ranks());
  const Range indices{share.begin * width, share.count * width};
  return {indices, indices};
}

at::Tensor LayerBuilder::note(Parameter parameter) {
  std::vector<std::int64_t> shape = parameter.shape;
  shape[static_cast<std::size_t>(parameter.split_dimension)] = parameter.held.count;
  const at::Device device = options_.describe_only ? at::kMeta : at::kCPU;
  parameter.tensor = at::empty(shape, at::TensorOptions().dtype(options_.type).device(device));
  parameter.tensor.set_requires_grad(parameter.reachable);
  parameter.layer = layer_;
  parameter.shared = parameter.shared && ranks() > 1;
  into_.push_back(std::move(parameter));
  return into_.back().tensor;
}

at::Tensor LayerBuilder::whole(std::string name, std::vector<std::int64_t> shape) {
  const Range all{0, shape[0]};
  return note({.name = std::move(name),
               .shape = std::move(shape),
               .held = all,
               .owned = rank() == 0 ? all : Range{},
               .shared = true});
}

void LayerBuilder::kept(std::string name, std::vector<std::int64_t> shape) {
  const Range all{0, shape[0]};
  note({.name = std::move(name),
        .shape = std::move(shape),
        .held = all,
        .owned = rank() == 0 ? all : Range{},
        .reachable = false});
}

at::Tensor LayerBuilder::divided(std::string name, std::vector<std::int64_t> shape,
                                 std::int64_t dimension, const Division& division) {
  return note({.name = std::move(name),
               .shape = std::move(shape),
               .split_dimension = dimension,
               .held = division.held,
               .owned = division.owned,
               .shared = division.overlaps});
}

void LayerBuilder::note_use(std::string_view name) {
  for (Parameter& parameter : into_) parameter.uses += parameter.name == name ? 1 : 0;
}

Linear LayerBuilder::linear_by_output(const std::string& prefix, std::int64_t in, std::int64_t out,
                                      bool bias, const Division& division) {
  Linear layer;
  layer.weight = divided(prefix + ".weight", {out, in}, 0, division);
  if (bias) layer.bias = divided(prefix + ".bias", {out}, 0, division);
  return layer;
}

Linear LayerBuilder::linear_by_input(const std::string& prefix, std::int64_t in, std::int64_t out,
                                     bool bias, const Division& division) {
  Linear layer;
  layer.weight = divided(prefix + ".weight", {out, in}, 1, division);
  if (bias) layer.bias = whole(prefix + ".bias", {out});
  return layer;
}

Norm LayerBuilder::norm(const std::string& prefix, std::int64_t width, bool bias, double eps) {
  Norm norm{.weight = whole(prefix + ".weight", {width}), .bias = {}, .eps = eps};
  if (bias) norm.bias = whole(prefix + ".bias", {width});
  return norm;
}

}  // namespace omnibal::runtime
