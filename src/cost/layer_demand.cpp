// SPDX-License-Identifier: Apache-2.0
#include "cost/layer_demand.h"

#include <algorithm>

#include "cost/attention_shares.h"
#include "cost/block_operations.h"
#include "omnibal/model/parameters.h"

namespace omnibal::cost {
namespace {

using model::LayerKind;
using model::ModelSpec;

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

/// What follows from the operations. Where a layer's own weights train, input and weight gradients
/// count as a forward each, though the scores' are all input gradients: their sum is what matters.
LayerDemand demand_of(const std::vector<Operation>& operations, bool trains, bool trains_before) {
  const BackwardDemand backward = backward_demand(operations, trains_before);
  LayerDemand demand;
  demand.forward_flops = forward_flops(operations);
  demand.activation_bytes = backward.kept_bytes;
  if (trains && trains_before) {
    demand.input_gradient_flops = demand.weight_gradient_flops = demand.forward_flops;
  } else {
    demand.input_gradient_flops = backward.input_gradient_flops;
    demand.weight_gradient_flops = backward.weight_gradient_flops;
  }
  return demand;
}

void add_choice(const std::vector<Operation>& operations, bool trains_before, std::string name,
                const std::vector<Region>& regions, LayerDemand& demand) {
  RegionDemand region = region_demand(operations, trains_before, regions);
  if (region.rebuilt_bytes.is_zero()) return;
  demand.choices.push_back({std::move(name), std::move(region)});
}

LayerDemand block_demand(const BlockSpec& block, const std::vector<Operation>& operations,
                         bool trains_before) {
  LayerDemand demand = demand_of(operations, block.trains, trains_before);
  const double width = d(block.widths.width);
  demand.recomputed_bytes = kBf16 * width * block.shares.outside * block.tokens;
  demand.boundary_bytes = kBf16 * width * block.tokens;
  demand.device_adapter_parameters = device_adapter_parameters(block);
  add_choice(operations, trains_before, "attention", {Region::kAttention}, demand);
  add_choice(operations, trains_before, "mlp", {Region::kMlp}, demand);
  if (demand.choices.size() == 2) {
    add_choice(operations, trains_before, "attention+mlp", {Region::kAttention, Region::kMlp},
               demand);
  }
  return demand;
}

/// A ViT block per vision unit of S tokens. Activations: arXiv 2205.05198 with flash attention,
/// 34 s b h: 13 of the attention (norm, inputs, dropout mask; q, k, v and context) and 21 of the
/// MLP (5 s h + 4 s f).
LayerDemand vision_block(const ModelSpec& model, const LayerPlace& place,
                         const AnalyticOptions& options) {
  const model::VisionTower& tower = model.vision;
  const double h = d(tower.width);
  const double s = d(tower.tokens_per_unit);
  const AttentionShares shares =
      attention_shares(tower.num_heads, tower.num_heads, options.tp, options.heads);
  const double scores = 4 * s * d(attended(tower, place.index_in_kind)) * h * shares.query;
  const bool as_paper = model.kept == model::KeptCount::kPaper;
  const BlockSpec block{.widths = model::block_widths(tower),
                        .shares = shares,
                        .tp = d(options.tp),
                        .tokens = {.per_vision_unit = s},
                        .score_flops = {.per_vision_unit = scores},
                        .gated = tower.gated_mlp,
                        .qk_norm = tower.qk_norm && !as_paper,
                        .layer_scale = tower.layer_scale && !as_paper,
                        .dropout = as_paper,
                        .trains = tower.trainable,
                        .adapters = &tower.adapters};
  std::vector<Operation> operations = block_operations(block);
  double parameters = held(model::vision_block_parameters(tower), shares, block.tp);
  if (place.index_in_kind == 0) {  // the patch embedding is on every device
    const double flops = 2 * d(tower.patch_inputs) * h * d(tower.patches_per_unit);
    const LinearCost normed =
        tower.pre_norm && !as_paper ? kBf16 * h * shares.outside * block.tokens : LinearCost();
    operations.insert(
        operations.begin(),
        {{.flops = {.per_vision_unit = flops}, .trains = tower.trainable, .kept_bytes = {}},
         {.flops = {}, .trains = tower.trainable, .kept_bytes = normed}});
    parameters += d(model::patch_embedding_parameters(tower));
  }
  LayerDemand demand = block_demand(block, operations, place.trains_before);
  // The first layer's patch embedding counts as any other operation: backward twice the forward.
  if (tower.trainable && !place.trains_before) {
    demand.weight_gradient_flops = 2 * demand.forward_flops;
  }
  demand.device_parameters = parameters;
  return demand;
}

/// Two linear layers on the LLM tokens of a vision unit. Kept: input of the norm (where there is
/// one) and of the first layer, GELU's input and output, the result.
LayerDemand projector(const ModelSpec& model, const LayerPlace& place,
                      const AnalyticOptions& options) {
  const model::Projector& part = model.projector;
  const double tp = d(options.tp);
  const double in = d(part.input_width);
  const double hidden = d(part.hidden_width);
  const double out = d(part.output_width);
  const LinearCost tokens{.per_vision_unit = part.tokens_per_unit};
  std::vector<Operation> operations;
  if (part.input_norm) {
    operations.push_back(
        {.flops = {}, .trains = part.trainable, .kept_bytes = kBf16 * in * tokens});
  }
  operations.push_back({.flops = 2 * in * hidden / tp * tokens,
                        .trains = part.trainable,
                        .kept_bytes = kBf16 * in * tokens,
                        .kept_for = KeptFor::kWeights});
  operations.push_back({.flops = {}, .kept_bytes = kBf16 * hidden / tp * tokens});  // GELU
  operations.push_back({.flops = 2 * hidden * out / tp * tokens,
                        .trains = part.trainable,
                        .kept_bytes = kBf16 * hidden / tp * tokens,
                        .kept_for = KeptFor::kWeights,
                        .output_bytes = kBf16 * out / tp * tokens});
  const double matrices = in * hidden + hidden * out;
  LayerDemand demand = demand_of(operations, part.trainable, place.trains_before);
  demand.device_parameters = matrices / tp + (d(model::projector_parameters(part)) - matrices);
  demand.recomputed_bytes = kBf16 * in * tokens;
  demand.boundary_bytes = kBf16 * out * tokens;
  return demand;
}

LayerDemand token_embedding(const ModelSpec& model, const AnalyticOptions& options) {
  const double tp = d(options.tp);
  const double width = d(model.language.width);
  LayerDemand demand;
  demand.device_parameters = d(model::vocabulary_parameters(model.language)) / tp;
  demand.activation_bytes = demand.recomputed_bytes = {.per_token = kBf16 * width / tp};
  demand.boundary_bytes = {.per_token = kBf16 * width};
  return demand;
}

/// An LLM block per token and per token pair (causal: half of the square). Kept, in bf16: inputs
/// of both norms and of what follows them (8 d), q and context, k and v, gate, up and product.
LayerDemand llm_block(const ModelSpec& model, const LayerPlace& place,
                      const AnalyticOptions& options) {
  const model::LanguageModel& llm = model.language;
  const model::BlockWidths widths = model::block_widths(llm);
  const AttentionShares shares =
      attention_shares(llm.num_heads, llm.num_kv_heads, options.tp, options.heads);
  const BlockSpec block{.widths = widths,
                        .shares = shares,
                        .tp = d(options.tp),
                        .tokens = {.per_token = 1},
                        .score_flops = {.per_token_pair = 2 * d(widths.query) * shares.query},
                        .gated = true,
                        .qk_norm = llm.qk_norm && model.kept == model::KeptCount::kAutograd,
                        .trains = llm.trainable,
                        .adapters = &llm.adapters};
  LayerDemand demand = block_demand(block, block_operations(block), place.trains_before);
  demand.device_parameters = held(model::llm_block_parameters(llm), shares, block.tp);
  return demand;
}

/// Final norm, logits in fp32, loss. A tied table is held here once more: the first and the last
/// stage each need it.
LayerDemand head(const ModelSpec& model, const LayerPlace& place, const AnalyticOptions& options) {
  constexpr double kFp32 = 4;
  const double tp = d(options.tp);
  const double width = d(model.language.width);
  const double vocabulary = d(model.language.vocabulary);
  const bool trains = model.language.trainable;
  const LinearCost tokens{.per_token = 1};
  const LinearCost input = kBf16 * width / tp * tokens;
  const std::vector<Operation> operations{
      {.flops = {}, .trains = trains, .kept_bytes = input},  // norm
      {.flops = 2 * vocabulary * width / tp * tokens,
       .trains = trains,
       .kept_bytes = input,
       .kept_for = KeptFor::kWeights,
       .output_bytes = kFp32 * vocabulary / tp * tokens}};
  LayerDemand demand = demand_of(operations, trains, place.trains_before);
  demand.device_parameters = vocabulary * width / tp + width;
  demand.recomputed_bytes = demand.activation_bytes;
  return demand;
}

}  // namespace

LayerDemand layer_demand(const ModelSpec& model, const LayerPlace& place,
                         const AnalyticOptions& options) {
  switch (place.kind) {
    case LayerKind::kPatchEmbedding:
    case LayerKind::kVisionBlock:
      return vision_block(model, place, options);
    case LayerKind::kProjector:
      return projector(model, place, options);
    case LayerKind::kTokenEmbedding:
      return token_embedding(model, options);
    case LayerKind::kLlmBlock:
      return llm_block(model, place, options);
    case LayerKind::kHead:
      return head(model, place, options);
  }
  return {};
}

}  // namespace omnibal::cost
