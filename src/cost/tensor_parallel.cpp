// SPDX-License-Identifier: Apache-2.0
#include "cost/tensor_parallel.h"

#include <algorithm>

#include "cost/operations.h"

namespace omnibal::cost {
namespace {

double bytes_of(std::int64_t width) { return kBf16 * static_cast<double>(width); }

bool attention_is_split(std::int64_t num_heads, const AnalyticOptions& options) {
  return options.heads == HeadPolicy::kPad || num_heads % options.tp == 0;
}

double sums_of_block(std::int64_t num_heads, const AnalyticOptions& options) {
  return attention_is_split(num_heads, options) ? 2 : 1;
}

}  // namespace

LinearCost all_reduced_bytes(const model::ModelSpec& model, model::LayerKind kind,
                             const AnalyticOptions& options) {
  const model::VisionTower& vision = model.vision;
  const model::LanguageModel& language = model.language;
  switch (kind) {
    case model::LayerKind::kVisionBlock:
      return {.per_vision_unit = sums_of_block(vision.num_heads, options) *
                                 static_cast<double>(vision.tokens_per_unit) *
                                 bytes_of(vision.width)};
    case model::LayerKind::kProjector:
      return {.per_vision_unit = static_cast<double>(model.projector.tokens_per_unit) *
                                 bytes_of(model.projector.output_width)};
    case model::LayerKind::kTokenEmbedding:
      return {.per_token = bytes_of(language.width)};
    case model::LayerKind::kLlmBlock:
      return {.per_token = sums_of_block(language.num_heads, options) * bytes_of(language.width)};
    case model::LayerKind::kPatchEmbedding:
    case model::LayerKind::kHead:
      return {};  // whole on each device; logits stay split, a few numbers a token are summed
  }
  return {};
}

void add_tensor_parallel_seconds(const LinearCost& bytes, std::int64_t tp,
                                 const cluster::Link& link, bool trains_before,
                                 LayerProfile& layer) {
  if (tp <= 2) return;
  const auto devices = static_cast<double>(tp);
  const double beyond_two = 2 * (devices - 1) / devices - 1;
  const LinearCost seconds = (beyond_two / link.bytes_per_s) * bytes;
  layer.forward_s += seconds;
  (trains_before ? layer.input_grad_s : layer.weight_grad_s) += seconds;
  layer.recompute_s += seconds;
}

}  // namespace omnibal::cost
