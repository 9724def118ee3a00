// SPDX-License-Identifier: Apache-2.0
//
// The layers in front of the language model: blocks of InternViT or CLIP, the first with the patch
// embedding, and the projector. Rows of hidden states are spread over tensor-parallel ranks.
//
//   const at::Tensor y_NH = forward(block, x_NH, pass);       // N = units * tokens a unit
//   const at::Tensor f_MD = forward(projector, y_NH, pass);   // M = units * LLM tokens a unit
//
// Not for towers at native resolution.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "omnibal/runtime/config/model_config.h"
#include "omnibal/runtime/layers/linear.h"
#include "omnibal/runtime/layers/norm.h"
#include "omnibal/runtime/model/pass.h"

namespace omnibal::runtime {

struct PatchEmbedding {
  Linear patches = {};          // a convolution's: [H, 3, patch, patch]
  at::Tensor class_token = {};  // H numbers
  at::Tensor positions = {};    // [.., tokens, H]; undefined: none
  Norm pre_norm = {};           // CLIP; weight undefined: none
};

struct VisionBlock {
  std::optional<PatchEmbedding> embedding = {};  // of the first block
  Norm norm1 = {}, norm2 = {};
  Linear query = {}, key = {}, value = {}, output = {};
  Norm query_norm = {}, key_norm = {};  // over all heads; weight undefined: none
  Linear up = {}, down = {};
  at::Tensor scale1 = {}, scale2 = {};  // LayerScale; undefined: none
  Activation activation = Activation::kGelu;
  std::int64_t width = 0;
  std::int64_t head_width = 0;
};

struct Projector {
  Norm tower_norm = {};  // behind the last block; weight undefined: none
  Norm norm = {};        // of InternVL; weight undefined: none
  Linear first = {}, second = {};
  Activation activation = Activation::kGelu;
  std::int64_t shuffle = 1;
  bool drops_class_token = true;
};

at::Tensor forward(const VisionBlock& block, const at::Tensor& input, const Pass& pass);
at::Tensor forward(const Projector& projector, const at::Tensor& input, const Pass& pass);

}  // namespace omnibal::runtime
