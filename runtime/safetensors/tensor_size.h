// SPDX-License-Identifier: Apache-2.0
//
// How many bytes a tensor takes. Private to safetensors.
//
//   const std::optional<std::int64_t> size = tensor_bytes(DType::kF32, shape);
//
// Not for memory: alignment and headers are not counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "omnibal/runtime/safetensors/dtype.h"

namespace omnibal::runtime {

/// Nothing if the size does not fit in 63 bits. No side is negative.
inline std::optional<std::int64_t> tensor_bytes(DType dtype, std::span<const std::int64_t> shape) {
  if (std::ranges::count(shape, 0) > 0) return 0;
  std::int64_t bytes = bytes_of(dtype);
  for (const std::int64_t side : shape) {
    if (bytes > INT64_MAX / side) return std::nullopt;
    bytes *= side;
  }
  return bytes;
}

}  // namespace omnibal::runtime
