// SPDX-License-Identifier: Apache-2.0
//
// Small models with reproducible weights, and micro-batches for them, made without any file of a
// real model.
//
//   const ScratchDirectory scratch;
//   const ModelConfig config = sample_config(scratch, kInternVlSample);
//   write_sample_weights(scratch, config);          // in fp64, into the same directory
//   const PreparedBatch batch = sample_batch(config, 2, 7);
//
// Not for comparisons with transformers: the Python tests do those.
#pragma once

#include <string>

#include "codec/scratch_directory.h"
#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {

/// A config.json with heads as given: InternVL with RMSNorm and qk-norm over Qwen3; LLaVA with
/// Llama.
std::string internvl_json(int vision_heads, int heads, int kv_heads, bool tied);
std::string llava_json(int vision_heads, int heads, int kv_heads, bool tied);

ModelConfig sample_config(const ScratchDirectory& scratch, const std::string& json);
void write_sample_weights(const ScratchDirectory& scratch, const ModelConfig& config);
/// Two samples: one with `units` tiles and `words` words, one of words alone.
PreparedBatch sample_batch(const ModelConfig& config, std::int64_t units, std::int64_t words,
                           at::ScalarType type = at::kDouble);
/// All layers, on this rank of `group`, in fp64.
Stage sample_stage(const ScratchDirectory& scratch, const ModelConfig& config,
                   const TensorGroup* group);

}  // namespace omnibal::runtime
