// SPDX-License-Identifier: Apache-2.0
//
// A micro-batch from a safetensors file that Python wrote: ids, positions, offsets (of segments),
// labels, weights, pixels.
//
//   OMNIBAL_ASSIGN(MicroBatch batch, read_micro_batch("batch0.safetensors"));
//
// Not checked: prepare() does that.
#pragma once

#include <string>

#include "omnibal/runtime/model/micro_batch.h"
#include "omnibal/runtime/model/weights.h"

namespace omnibal::runtime {

inline Result<MicroBatch> read_micro_batch(const std::string& path) {
  OMNIBAL_ASSIGN(const TensorFile file, TensorFile::open(path));
  const auto read = [&](const char* name) -> Result<at::Tensor> {
    OMNIBAL_ASSIGN(const TensorView view, file.find(name));
    return tensor_of(view);
  };
  MicroBatch batch;
  OMNIBAL_ASSIGN(batch.ids, read("ids"));
  OMNIBAL_ASSIGN(batch.positions, read("positions"));
  OMNIBAL_ASSIGN(batch.labels, read("labels"));
  OMNIBAL_ASSIGN(batch.weights, read("weights"));
  OMNIBAL_ASSIGN(batch.pixels, read("pixels"));
  OMNIBAL_ASSIGN(const at::Tensor offsets, read("offsets"));
  const auto* const begin = offsets.const_data_ptr<std::int64_t>();
  batch.segment_offsets.assign(begin, begin + offsets.numel());
  return batch;
}

}  // namespace omnibal::runtime
