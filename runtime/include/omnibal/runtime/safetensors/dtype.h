// SPDX-License-Identifier: Apache-2.0
//
// The element types of safetensors files.
//
//   const std::optional<DType> dtype = parse_dtype("BF16");
//   bytes_of(*dtype);   // 2
//   name_of(*dtype);    // "BF16"
//
// Not the types of .npy files: codec/npy.h. Types of less than a byte (F4, F6) are not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace omnibal::runtime {

enum class DType {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64,
};

std::optional<DType> parse_dtype(std::string_view name);
std::string_view name_of(DType dtype);
std::int64_t bytes_of(DType dtype);

}  // namespace omnibal::runtime
