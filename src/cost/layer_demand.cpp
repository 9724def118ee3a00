// SPDX-License-Identifier: Apache-2.0
#include "cost/layer_demand.h"

#include <algorithm>

#include "cost/attention_shares.h"
#include "omnibal/model/parameters.h"

namespace omnibal::cost {
namespace {

using model::LayerKind;
using model::ModelSpec;

constexpr double kBf16 = 2;  // bytes of a value

double d(std::int64_t number) { return static_cast<double>(number); }

double held(const model::BlockParameters& block, const AttentionShares& shares, double tp) {
  return d(block.attention_query) * shares.query + d(block.attention_kv) * shares.kv +
         d(block.mlp) / tp + d(block.whole);
}

/// Tokens that a token of block `index` attends.
std::int64_t attended(const model::VisionTower& tower, std::int64_t index) {
  const bool full = tower.window_tokens == 0 ||
                    std::ranges::find(tower.full_blocks, index) != tower.full_blocks.end();
  return full ? tower.attended_tokens : std::min(tower.window_tokens, tower.attended_tokens);
}

/// A ViT block per vision unit of S tokens. Activations: arXiv 2205.05198 with flash attention,
/// 34 s b h: 13 of the attention (norm, inputs, dropout mask; q, k, v and context) and 21 of the
/// MLP (5 s h + 4 s f).
LayerDemand vision_block(const ModelSpec& model, std::int64_t index,
                         const AnalyticOptions& options) {
  const model::VisionTower& tower = model.vision;
  const AttentionShares shares =
      attention_shares(tower.num_heads, tower.num_heads, options.tp, options.heads);
  const double tp = d(options.tp);
  const double h = d(tower.width);
  const double f = d(tower.mlp_width);
  const double s = d(tower.tokens_per_unit);
  const double matrices = tower.gated_mlp ? 3 : 2;

  const double projections = 4 * h * h * s * (shares.query + shares.kv);
  const double scores = 4 * s * d(attended(tower, index)) * h * shares.query;
  double flops = projections + scores + 2 * matrices * h * f * s / tp;
  double parameters = held(model::vision_block_parameters(tower), shares, tp);
  if (index == 0) {  // the patch embedding is on every device
    flops += 2 * d(tower.patch_inputs) * h * d(tower.patches_per_unit);
    parameters += d(model::patch_embedding_parameters(tower));
  }
  const double attention_bytes = s * h * (5 * shares.outside + 4 * (shares.query + shares.kv));
  const double mlp_bytes = s * (5 * h + (tower.gated_mlp ? 6 : 4) * f) / tp;
  return {.flops = {.per_vision_unit = flops},
          .device_parameters = parameters,
          .activation_bytes = {.per_vision_unit = attention_bytes + mlp_bytes},
          .recomputed_bytes = {.per_vision_unit = kBf16 * s * h * shares.outside},
          .boundary_bytes = {.per_vision_unit = kBf16 * s * h}};
}

/// Two linear layers on the LLM tokens of a vision unit. Kept: input of the norm (where there is
/// one) and of the first layer, GELU's input and output, the result.
LayerDemand projector(const ModelSpec& model, const AnalyticOptions& options) {
  const model::Projector& part = model.projector;
  const double tp = d(options.tp);
  const double in = d(part.input_width);
  const double hidden = d(part.hidden_width);
  const double out = d(part.output_width);
  const double tokens = part.tokens_per_unit;
  const double matrices = in * hidden + hidden * out;
  const double whole_bytes = kBf16 * in * (part.input_norm ? 2 : 1);
  const double split_bytes = kBf16 * (2 * hidden + out) / tp;
  return {.flops = {.per_vision_unit = 2 * matrices * tokens / tp},
          .device_parameters = matrices / tp + (d(model::projector_parameters(part)) - matrices),
          .activation_bytes = {.per_vision_unit = tokens * (whole_bytes + split_bytes)},
          .recomputed_bytes = {.per_vision_unit = tokens * kBf16 * in},
          .boundary_bytes = {.per_vision_unit = tokens * kBf16 * out}};
}

LayerDemand token_embedding(const ModelSpec& model, const AnalyticOptions& options) {
  const double tp = d(options.tp);
  const double width = d(model.language.width);
  return {.flops = {},
          .device_parameters = d(model::vocabulary_parameters(model.language)) / tp,
          .activation_bytes = {.per_token = kBf16 * width / tp},
          .recomputed_bytes = {.per_token = kBf16 * width / tp},
          .boundary_bytes = {.per_token = kBf16 * width}};
}

/// An LLM block per token and per token pair (causal: half of the square). Kept, in bf16: inputs
/// of both norms and of what follows them (8 d), q and context, k and v, gate, up and product.
LayerDemand llm_block(const ModelSpec& model, const AnalyticOptions& options) {
  const model::LanguageModel& llm = model.language;
  const AttentionShares shares =
      attention_shares(llm.num_heads, llm.num_kv_heads, options.tp, options.heads);
  const double tp = d(options.tp);
  const double width = d(llm.width);
  const double g = d(llm.mlp_width);
  const double query = d(llm.num_heads * llm.head_width);
  const double kv = d(llm.num_kv_heads * llm.head_width);
  const double matrices = 2 * width * (query * shares.query + kv * shares.kv) + 3 * width * g / tp;
  const double attention_bytes =
      kBf16 * (2 * width * shares.outside + 2 * query * shares.query + 2 * kv * shares.kv);
  const double mlp_bytes = kBf16 * (2 * width + 3 * g) / tp;
  return {.flops = {.per_token = 2 * matrices, .per_token_pair = 2 * query * shares.query},
          .device_parameters = held(model::llm_block_parameters(llm), shares, tp),
          .activation_bytes = {.per_token = attention_bytes + mlp_bytes},
          .recomputed_bytes = {.per_token = kBf16 * width * shares.outside},
          .boundary_bytes = {.per_token = kBf16 * width}};
}

/// Final norm, logits in fp32, loss. A tied table is held here once more: the first and the last
/// stage each need it.
LayerDemand head(const ModelSpec& model, const AnalyticOptions& options) {
  const double tp = d(options.tp);
  const double width = d(model.language.width);
  const double vocabulary = d(model.language.vocabulary);
  const LinearCost bytes{.per_token = (4 * vocabulary + 4 * width) / tp};
  return {.flops = {.per_token = 2 * vocabulary * width / tp},
          .device_parameters = vocabulary * width / tp + width,
          .activation_bytes = bytes,
          .recomputed_bytes = bytes,
          .boundary_bytes = {}};
}

}  // namespace

LayerDemand layer_demand(const ModelSpec& model, LayerKind kind, std::int64_t index_in_kind,
                         const AnalyticOptions& options) {
  switch (kind) {
    case LayerKind::kPatchEmbedding:
    case LayerKind::kVisionBlock:
      return vision_block(model, index_in_kind, options);
    case LayerKind::kProjector:
      return projector(model, options);
    case LayerKind::kTokenEmbedding:
      return token_embedding(model, options);
    case LayerKind::kLlmBlock:
      return llm_block(model, options);
    case LayerKind::kHead:
      return head(model, options);
  }
  return {};
}

}  // namespace omnibal::cost
