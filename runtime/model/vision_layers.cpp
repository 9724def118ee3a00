// SPDX-License-Identifier: Apache-2.0
//
// Shapes: U units of S tokens, N = U S, H width, h heads of this rank, d head width.
#include "omnibal/runtime/model/vision_layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "omnibal/runtime/layers/activation.h"
#include "omnibal/runtime/layers/attention.h"
#include "omnibal/runtime/layers/patches.h"
#include "omnibal/runtime/layers/rebuilt_linear.h"

namespace omnibal::runtime {
namespace {

at::Tensor activate(Activation activation, const at::Tensor& x) {
  return activation == Activation::kGelu ? runtime::gelu(x) : quick_gelu(x);
}

/// Each rank computes all patches, which cost little, and keeps its rows.
at::Tensor embed_pixels(const PatchEmbedding& embedding, const Pass& pass) {
  const at::Tensor& pixels = pass.batch.batch.pixels;
  const at::Tensor patches_UPH = embed_patches(pixels, embedding.patches);
  const std::int64_t width = patches_UPH.size(2);
  const at::Tensor class_U1H =
      embedding.class_token.reshape({1, 1, width}).expand({pixels.size(0), 1, width});
  at::Tensor x_USH = at::cat({class_U1H, patches_UPH}, 1);
  if (embedding.positions.defined()) x_USH = x_USH + embedding.positions;
  const at::Tensor x = own_rows(x_USH.reshape({pass.batch.vision_rows(), width}), pass.group);
  return embedding.pre_norm.weight.defined() ? normalize(x, embedding.pre_norm) : x;
}

/// [rows, own heads]: what the output projection multiplies.
at::Tensor attend(const VisionBlock& block, const at::Tensor& x, const Pass& pass) {
  const std::int64_t rows = pass.batch.vision_rows();
  const std::vector<at::Tensor> qkv =
      column_parallel(normalize(x, block.norm1), rows, {block.query, block.key, block.value},
                      pass.group, pass.later);
  const auto normed = [&](const at::Tensor& y, const Norm& norm) {
    if (!norm.weight.defined()) return y;
    return split_rms_norm(y, norm.weight, norm.eps, block.width, pass.group);
  };
  const auto heads_UShd = [&](const at::Tensor& y) {
    return y.view({pass.batch.units(), pass.batch.unit_vision_tokens, y.size(1) / block.head_width,
                   block.head_width});
  };
  const at::Tensor out =
      unit_attention(heads_UShd(normed(qkv[0], block.query_norm)),
                     heads_UShd(normed(qkv[1], block.key_norm)), heads_UShd(qkv[2]));
  return out.reshape({rows, qkv[0].size(1)});
}

/// [rows, own part of the MLP's width]: what the last matrix multiplies.
at::Tensor widen(const VisionBlock& block, const at::Tensor& x, const Pass& pass) {
  const std::vector<at::Tensor> up = column_parallel(
      normalize(x, block.norm2), pass.batch.vision_rows(), {block.up}, pass.group, pass.later);
  return activate(block.activation, up[0]);
}

at::Tensor scaled(const at::Tensor& x, const at::Tensor& scale) {
  return scale.defined() ? x * scale : x;
}

/// [U S, H] -> [U (S / f^2), f^2 H]: squares of f patches a side become one token, in the order of
/// transformers' pixel_shuffle.
at::Tensor shuffle_pixels(const at::Tensor& x_USH, std::int64_t factor) {
  if (factor == 1) return x_USH;
  const std::int64_t units = x_USH.size(0);
  const std::int64_t width = x_USH.size(2);
  std::int64_t side = 1;
  while (side * side < x_USH.size(1)) ++side;
  const std::int64_t small = side / factor;
  return x_USH.reshape({units, small, factor, small, factor, width})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({units, small * small, factor * factor * width});
}

}  // namespace

at::Tensor forward(const VisionBlock& block, const at::Tensor& input, const Pass& pass) {
  const at::Tensor x = block.embedding ? embed_pixels(*block.embedding, pass) : input;
  const Before attention{[&block, pass](const at::Tensor& v) { return attend(block, v, pass); },
                         runs_attention_again(pass.recompute)};
  const Before mlp{[&block, pass](const at::Tensor& v) { return widen(block, v, pass); },
                   runs_mlp_again(pass.recompute)};
  const at::Tensor y =
      x + scaled(row_parallel(x, attention, block.output, pass.group, pass.later), block.scale1);
  return y + scaled(row_parallel(y, mlp, block.down, pass.group, pass.later), block.scale2);
}

at::Tensor forward(const Projector& projector, const at::Tensor& input, const Pass& pass) {
  const PreparedBatch& batch = pass.batch;
  const at::Tensor own =
      projector.tower_norm.weight.defined() ? normalize(input, projector.tower_norm) : input;
  const at::Tensor all_NH = gather_rows(own, batch.vision_rows(), pass.group);
  at::Tensor x_USH = all_NH.view({batch.units(), batch.unit_vision_tokens, all_NH.size(1)});
  if (projector.drops_class_token) x_USH = x_USH.narrow(1, 1, batch.unit_vision_tokens - 1);
  at::Tensor x = shuffle_pixels(x_USH, projector.shuffle);
  x = x.reshape({batch.feature_rows(), x.size(2)});
  if (projector.norm.weight.defined()) x = normalize(x, projector.norm);
  const at::Tensor hidden = activate(projector.activation, linear(x, projector.first, pass.later));
  return row_parallel(hidden, projector.second, pass.group, pass.later);
}

}  // namespace omnibal::runtime
