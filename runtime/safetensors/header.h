// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file: 8 bytes of length (little-endian), then a JSON object of
// tensors, each with `dtype`, `shape` and `data_offsets` into the rest. Private to safetensors.
//
//   OMNIBAL_ASSIGN(const TensorHeader header, parse_tensor_header(bytes, path));
//
// Not for trusted input: everything is checked.
#pragma once

#include <vector>

#include "omnibal/runtime/safetensors/reader.h"

namespace omnibal::runtime {

struct TensorHeader {
  std::vector<TensorView> tensors;  // by place in the file, with views into it
  TensorMetadata metadata;
};

/// Errors: kMalformedSafetensors, kDuplicateName.
Result<TensorHeader> parse_tensor_header(std::span<const std::byte> file, const std::string& path);

}  // namespace omnibal::runtime
