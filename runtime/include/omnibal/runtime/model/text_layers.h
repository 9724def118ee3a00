// SPDX-License-Identifier: Apache-2.0
//
// The layers of the language model: token embedding, which puts the vision features at their
// places; blocks of Qwen2, Qwen3 and Llama; head with the loss.
//
//   const at::Tensor x_TD = forward(embedding, features_MD, pass);
//   const at::Tensor y_TD = forward(block, x_TD, pass);
//   const at::Tensor loss = forward(head, y_TD, pass);      // a scalar, fp32
//
// Not for generation: there is no cache.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "omnibal/runtime/layers/linear.h"
#include "omnibal/runtime/layers/norm.h"
#include "omnibal/runtime/model/parameter.h"
#include "omnibal/runtime/model/pass.h"

namespace omnibal::runtime {

struct TokenEmbedding {
  at::Tensor table;  // [words of this rank, D]
  std::int64_t first_word = 0;
};

struct TextBlock {
  Norm norm1 = {}, norm2 = {};
  Linear query = {}, key = {}, value = {}, output = {};
  Norm query_norm = {}, key_norm = {};  // of one head; weight undefined: none
  Linear gate = {}, up = {}, down = {};
  std::int64_t head_width = 0;
  Range heads = {};         // this rank's
  Range kv_heads = {};      // those which they attend with
  std::int64_t per_kv = 1;  // heads of the model that share a key-value head
};

struct Head {
  Norm norm;
  Linear words;  // [words of this rank, D]
  std::int64_t first_word = 0;
};

at::Tensor forward(const TokenEmbedding& embedding, const at::Tensor& input, const Pass& pass);
at::Tensor forward(const TextBlock& block, const at::Tensor& input, const Pass& pass);
/// The weighted sum of losses at supervised positions. Error-free for no position: 0.
at::Tensor forward(const Head& head, const at::Tensor& input, const Pass& pass);
/// [supervised positions, words of this rank].
at::Tensor logits(const Head& head, const at::Tensor& input, const Pass& pass);

}  // namespace omnibal::runtime
