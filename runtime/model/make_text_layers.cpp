// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "model/make_layers.h"
#include "model/names.h"

namespace omnibal::runtime {
namespace {

/// The key-value heads that a rank's query heads attend with. Where query heads of one key-value
/// head lie on two ranks, both hold it.
struct KvHeads {
  Range heads;
  Division division;  // of the projections' outputs
};

KvHeads divide_kv(const model::LanguageModel& text, const LayerBuilder& builder) {
  const std::int64_t group = text.num_heads / text.num_kv_heads;
  const Range heads = share_of(text.num_heads, builder.rank(), builder.ranks());
  const std::int64_t begin = heads.begin / group;
  const std::int64_t end = heads.count == 0 ? begin : (heads.end() + group - 1) / group;
  const std::int64_t lower_end = std::min(end, (heads.begin + group - 1) / group);
  const std::int64_t w = text.head_width;
  const std::int64_t each = share_of(text.num_heads, 0, builder.ranks()).count;
  return {{begin, end - begin},
          {.held = {begin * w, (end - begin) * w},
           .owned = {lower_end * w, (end - lower_end) * w},
           .overlaps = each % group != 0}};
}

void make_mlp(const model::LanguageModel& text, const std::string& prefix, LayerBuilder& builder,
              TextBlock& block) {
  const Division mlp = builder.divide(text.mlp_width);
  const auto by_output = [&](std::string_view name) {
    return builder.linear_by_output(fmt::format("{}mlp.{}", prefix, name), text.width,
                                    text.mlp_width, text.mlp_bias, mlp);
  };
  block.gate = by_output("gate_proj");
  block.up = by_output("up_proj");
  block.down = builder.linear_by_input(prefix + "mlp.down_proj", text.mlp_width, text.width,
                                       text.mlp_bias, mlp);
}

}  // namespace

TokenEmbedding make_token_embedding(const ModelConfig& config, LayerBuilder& builder) {
  const model::LanguageModel& text = config.spec.language;
  const Division words = builder.divide(text.vocabulary);
  return {builder.divided(std::string(kTokenTable), {text.vocabulary, text.width}, 0, words),
          words.held.begin};
}

TextBlock make_text_block(const ModelConfig& config, std::int64_t index, LayerBuilder& builder) {
  const model::LanguageModel& text = config.spec.language;
  const std::string prefix = fmt::format("language_model.model.layers.{}.", index);
  const double eps = config.text.norm_eps;
  const std::int64_t query_width = text.num_heads * text.head_width;
  const std::int64_t kv_width = text.num_kv_heads * text.head_width;
  const Division heads = builder.divide(text.num_heads, text.head_width);
  const KvHeads kv = divide_kv(text, builder);
  TextBlock block{.head_width = text.head_width,
                  .heads = share_of(text.num_heads, builder.rank(), builder.ranks()),
                  .kv_heads = kv.heads,
                  .per_kv = text.num_heads / text.num_kv_heads};
  block.norm1 = builder.norm(prefix + "input_layernorm", text.width, false, eps);
  const auto projection = [&](std::string_view name, std::int64_t out, const Division& division) {
    return builder.linear_by_output(fmt::format("{}self_attn.{}_proj", prefix, name), text.width,
                                    out, text.qkv_bias, division);
  };
  block.query = projection("q", query_width, heads);
  block.key = projection("k", kv_width, kv.division);
  block.value = projection("v", kv_width, kv.division);
  if (text.qk_norm) {
    block.query_norm = builder.norm(prefix + "self_attn.q_norm", text.head_width, false, eps);
    block.key_norm = builder.norm(prefix + "self_attn.k_norm", text.head_width, false, eps);
  }
  block.output = builder.linear_by_input(prefix + "self_attn.o_proj", query_width, text.width,
                                         text.out_bias, heads);
  block.norm2 = builder.norm(prefix + "post_attention_layernorm", text.width, false, eps);
  make_mlp(text, prefix, builder, block);
  return block;
}

Head make_head(const ModelConfig& config, const TokenEmbedding* embedding, LayerBuilder& builder) {
  const model::LanguageModel& text = config.spec.language;
  Head head;
  head.norm = builder.norm("language_model.model.norm", text.width, false, config.text.norm_eps);
  const Division words = builder.divide(text.vocabulary);
  head.first_word = words.held.begin;
  const bool tied = text.tied_embedding;
  if (tied && embedding != nullptr) {
    head.words.weight = embedding->table;
    builder.note_use(kTokenTable);
    return head;
  }
  head.words.weight = builder.divided(std::string(tied ? kTokenTable : kHeadTable),
                                      {text.vocabulary, text.width}, 0, words);
  if (tied) builder.mark_tied_copy();
  return head;
}

}  // namespace omnibal::runtime
