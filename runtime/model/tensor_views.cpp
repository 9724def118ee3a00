// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "omnibal/runtime/model/weights.h"

namespace omnibal::runtime {
namespace {

struct TypePair {
  DType dtype;
  at::ScalarType type;
};

constexpr std::array kTypes = {
    TypePair{DType::kF32, at::kFloat},     TypePair{DType::kF64, at::kDouble},
    TypePair{DType::kBF16, at::kBFloat16}, TypePair{DType::kF16, at::kHalf},
    TypePair{DType::kI64, at::kLong},      TypePair{DType::kI32, at::kInt},
    TypePair{DType::kU8, at::kByte},
};

}  // namespace

TensorView view_of(const std::string& name, const at::Tensor& tensor) {
  TensorView view{.name = name, .shape = tensor.sizes().vec(), .bytes = {}};
  for (const TypePair& pair : kTypes) {
    if (pair.type == tensor.scalar_type()) view.dtype = pair.dtype;
  }
  view.bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
  return view;
}

Result<at::Tensor> tensor_of(const TensorView& view) {
  for (const TypePair& pair : kTypes) {
    if (pair.dtype != view.dtype) continue;
    at::Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(pair.type));
    if (!view.bytes.empty()) {
      std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
    }
    return tensor;
  }
  return Error(ErrorCode::kWrongType,
               fmt::format("a tensor is of type {}", std::string(name_of(view.dtype))))
      .at_key(view.name)
      .with_value(std::string(name_of(view.dtype)))
      .with_limit(std::string("F32, F64, BF16, F16"));
}

}  // namespace omnibal::runtime
