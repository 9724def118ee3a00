// SPDX-License-Identifier: Apache-2.0
//
// Shapes: T tokens, D width, H heads and K key-value heads of this rank, d head width.
#include "omnibal/runtime/model/text_layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include "omnibal/runtime/layers/activation.h"
#include "omnibal/runtime/layers/attention.h"
#include "omnibal/runtime/layers/rebuilt_linear.h"
#include "omnibal/runtime/layers/rotary.h"
#include "omnibal/runtime/layers/vocabulary.h"

namespace omnibal::runtime {
namespace {

/// Key-value heads as the attention kernel wants them: each for as many query heads in a row. A
/// rank whose range of heads starts or ends amid a key-value head's gets one for each query head.
at::Tensor matched(const TextBlock& block, const at::Tensor& kv_TKd) {
  const Range& heads = block.heads;
  const bool whole_groups = heads.begin % block.per_kv == 0 && heads.count % block.per_kv == 0;
  if (whole_groups || block.kv_heads.count <= 1) return kv_TKd;
  const at::Tensor served =
      at::arange(heads.begin, heads.end(), at::TensorOptions().dtype(at::kLong))
          .floor_divide(block.per_kv)
          .sub(block.kv_heads.begin);
  return kv_TKd.index_select(1, served);
}

/// [T, own heads]: what the output projection multiplies.
at::Tensor attend(const TextBlock& block, const at::Tensor& x, const Pass& pass) {
  const PreparedBatch& batch = pass.batch;
  const std::vector<at::Tensor> qkv =
      column_parallel(normalize(x, block.norm1), batch.tokens(),
                      {block.query, block.key, block.value}, pass.group, pass.later);
  const auto heads = [&](const at::Tensor& y, const Range& range) {
    return y.view({batch.tokens(), range.count, block.head_width});
  };
  const auto placed = [&](const at::Tensor& x_THd, const Norm& norm) {
    return rotate(norm.weight.defined() ? normalize(x_THd, norm) : x_THd, batch.rotary);
  };
  const at::Tensor q_THd = placed(heads(qkv[0], block.heads), block.query_norm);
  const at::Tensor k_TKd = placed(heads(qkv[1], block.kv_heads), block.key_norm);
  const at::Tensor v_TKd = heads(qkv[2], block.kv_heads);
  const at::Tensor out_THd =
      packed_attention(q_THd, matched(block, k_TKd), matched(block, v_TKd), batch.segments);
  return out_THd.reshape({batch.tokens(), qkv[0].size(1)});
}

/// [T, own part of the MLP's width]: what the last matrix multiplies.
at::Tensor widen(const TextBlock& block, const at::Tensor& x, const Pass& pass) {
  const std::vector<at::Tensor> inner =
      column_parallel(normalize(x, block.norm2), pass.batch.tokens(), {block.gate, block.up},
                      pass.group, pass.later);
  return swiglu(inner[0], inner[1]);
}

/// The supervised rows, normed: the others' logits are never computed.
at::Tensor supervised_rows(const Head& head, const at::Tensor& input, const Pass& pass) {
  const at::Tensor all_TD = gather_rows(input, pass.batch.tokens(), pass.group);
  return normalize(all_TD.index_select(0, pass.batch.supervised), head.norm);
}

}  // namespace

at::Tensor forward(const TokenEmbedding& embedding, const at::Tensor& input, const Pass& pass) {
  const PreparedBatch& batch = pass.batch;
  // Each rank puts its own features at their places, the sum over ranks brings them together.
  const Range own = share_of(batch.feature_rows(), rank_of(pass.group), size_of(pass.group));
  const at::Tensor words_TD = embed(batch.batch.ids, embedding.table, embedding.first_word);
  const at::Tensor merged_TD =
      words_TD.index_fill(0, batch.image_places, 0)
          .index_copy(0, batch.image_places.narrow(0, own.begin, own.count),
                      input.narrow(0, 0, own.count));
  return scatter_sum(merged_TD, pass.group);
}

at::Tensor forward(const TextBlock& block, const at::Tensor& input, const Pass& pass) {
  const Before attention{[&block, pass](const at::Tensor& v) { return attend(block, v, pass); },
                         runs_attention_again(pass.recompute)};
  const Before mlp{[&block, pass](const at::Tensor& v) { return widen(block, v, pass); },
                   runs_mlp_again(pass.recompute)};
  const at::Tensor x = input + row_parallel(input, attention, block.output, pass.group, pass.later);
  return x + row_parallel(x, mlp, block.down, pass.group, pass.later);
}

at::Tensor logits(const Head& head, const at::Tensor& input, const Pass& pass) {
  return wide_logits(supervised_rows(head, input, pass), head.words, pass.later);
}

at::Tensor forward(const Head& head, const at::Tensor& input, const Pass& pass) {
  return weighted_cross_entropy(logits(head, input, pass), pass.batch.targets, pass.batch.factors,
                                head.first_word, pass.group);
}

}  // namespace omnibal::runtime
