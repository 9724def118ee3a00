// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/pow.h>

#include "layers/accumulation_type.h"

namespace omnibal::runtime {

RotaryTable rotary_table(const at::Tensor& positions, std::int64_t head_width, double base,
                         at::ScalarType type) {
  const at::ScalarType wide = accumulation_type(type);
  // In fp64 too the frequencies are those of fp32: so transformers stores them.
  const at::Tensor exponents = at::arange(0, head_width, 2, positions.options().dtype(at::kFloat)) /
                               static_cast<double>(head_width);
  const at::Tensor frequencies = at::pow(base, exponents).reciprocal().to(wide);
  const at::Tensor half = positions.to(wide).unsqueeze(1) * frequencies;
  const at::Tensor angles = at::cat({half, half}, 1).unsqueeze(1);
  return {angles.cos().to(type), angles.sin().to(type)};
}

at::Tensor rotate(const at::Tensor& x, const RotaryTable& table) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor turned = at::cat({x.narrow(-1, half, half).neg(), x.narrow(-1, 0, half)}, -1);
  return x * table.cosine + turned * table.sine;
}

}  // namespace omnibal::runtime
