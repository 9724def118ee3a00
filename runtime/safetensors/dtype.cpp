// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/safetensors/dtype.h"

#include <array>

namespace omnibal::runtime {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array kTable = {
    Row{DType::kBool, "BOOL", 1},      Row{DType::kU8, "U8", 1},
    Row{DType::kI8, "I8", 1},          Row{DType::kF8E5M2, "F8_E5M2", 1},
    Row{DType::kF8E4M3, "F8_E4M3", 1}, Row{DType::kI16, "I16", 2},
    Row{DType::kU16, "U16", 2},        Row{DType::kF16, "F16", 2},
    Row{DType::kBF16, "BF16", 2},      Row{DType::kI32, "I32", 4},
    Row{DType::kU32, "U32", 4},        Row{DType::kF32, "F32", 4},
    Row{DType::kF64, "F64", 8},        Row{DType::kI64, "I64", 8},
    Row{DType::kU64, "U64", 8},
};

constexpr bool table_follows_the_enumeration() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].dtype) != i) return false;
  }
  return static_cast<std::size_t>(DType::kU64) + 1 == kTable.size();
}
static_assert(table_follows_the_enumeration());

}  // namespace

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& row : kTable) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::string_view name_of(DType dtype) { return kTable[static_cast<std::size_t>(dtype)].name; }

std::int64_t bytes_of(DType dtype) { return kTable[static_cast<std::size_t>(dtype)].bytes; }

}  // namespace omnibal::runtime
