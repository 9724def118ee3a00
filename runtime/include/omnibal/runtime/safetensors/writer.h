// SPDX-License-Identifier: Apache-2.0
//
// Safetensors files written whole or not at all (temporary name, sync, rename).
//
//   const TensorView weight{"w", DType::kF32, {2, 3}, std::as_bytes(std::span(values))};
//   OMNIBAL_RETURN_IF_ERROR(write_tensors("out.safetensors", {&weight, 1}, {{"format", "pt"}}));
//   OMNIBAL_RETURN_IF_ERROR(write_weights("model/", weights, {}));   // in shards, with an index
//
// Not for appending: a file is made of all its tensors at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "omnibal/base/result.h"
#include "omnibal/runtime/safetensors/reader.h"

namespace omnibal::runtime {

/// Tensors in the order given, the first aligned to 8 bytes, the others without gaps. The bytes
/// must be as many as type and shape say. Errors: kMalformedSafetensors (they are not),
/// kDuplicateName, kWriteFailed, kWouldOverwrite.
Status write_tensors(const std::string& path, std::span<const TensorView> tensors,
                     const TensorMetadata& metadata);

struct ShardOptions {
  std::int64_t max_shard_bytes = std::int64_t{50} * 1000 * 1000 * 1000;  // as transformers 5
  TensorMetadata metadata = {{"format", "pt"}};                          // asked for by readers
};

/// A model's weights into `directory`, which is there and holds none yet: one file, or shards and
/// an index, the index last. Whole as a set only inside a codec::StagedDirectory. Errors: those of
/// write_tensors.
Status write_weights(const std::string& directory, std::span<const TensorView> tensors,
                     const ShardOptions& options);

}  // namespace omnibal::runtime
