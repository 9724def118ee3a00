// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/micro_batch.h"

#include <ATen/ops/nonzero.h>
#include <fmt/format.h>

#include <utility>

namespace omnibal::runtime {
namespace {

Error wrong(std::string what, std::int64_t value, std::int64_t limit) {
  return Error(ErrorCode::kOutOfRange, std::move(what)).with_value(value).with_limit(limit);
}

Status check_sizes(const MicroBatch& batch, const model::VisionTower& tower) {
  const std::int64_t tokens = batch.ids.size(0);
  for (const at::Tensor& tensor : {batch.positions, batch.labels, batch.weights}) {
    if (tensor.dim() != 1 || tensor.size(0) != tokens) {
      return wrong("a micro-batch has positions, labels and weights of as many tokens as ids",
                   tensor.size(0), tokens);
    }
  }
  const std::vector<std::int64_t>& offsets = batch.segment_offsets;
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != tokens) {
    return wrong("segments of a micro-batch go from 0 to its tokens",
                 offsets.empty() ? 0 : offsets.back(), tokens);
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] <= offsets[i - 1]) {
      return wrong(fmt::format("segment {} of a micro-batch is empty", i - 1), offsets[i],
                   offsets[i - 1]);
    }
  }
  if (batch.pixels.dim() != 4 || batch.pixels.size(1) != 3 ||
      batch.pixels.size(2) != tower.image_size || batch.pixels.size(3) != tower.image_size) {
    return wrong("pixels of a micro-batch are no tiles of the vision tower", batch.pixels.dim(),
                 tower.image_size);
  }
  return {};
}

Status check_words(const at::Tensor& words, std::int64_t vocabulary, const char* what) {
  if (words.numel() == 0) return {};
  const std::int64_t least = words.min().item<std::int64_t>();
  const std::int64_t most = words.max().item<std::int64_t>();
  if (least >= 0 && most < vocabulary) return {};
  return wrong(fmt::format("{} is no word of the vocabulary", what), least < 0 ? least : most,
               vocabulary);
}

/// Indices of the true elements of [N].
at::Tensor places(const at::Tensor& condition) { return at::nonzero(condition).squeeze(1); }

}  // namespace

Result<PreparedBatch> prepare(MicroBatch batch, const ModelConfig& config, at::ScalarType type) {
  const model::LanguageModel& text = config.spec.language;
  OMNIBAL_RETURN_IF_ERROR(check_sizes(batch, config.spec.vision));
  PreparedBatch prepared;
  prepared.image_places = places(batch.ids.eq(config.image_token));
  prepared.supervised = places(batch.labels.ne(kNoLabel));
  prepared.targets = batch.labels.index_select(0, prepared.supervised);
  prepared.factors = batch.weights.index_select(0, prepared.supervised);
  OMNIBAL_RETURN_IF_ERROR(check_words(batch.ids, text.vocabulary, "a token"));
  OMNIBAL_RETURN_IF_ERROR(check_words(prepared.targets, text.vocabulary, "a label"));
  const std::int64_t features = batch.pixels.size(0) * config.unit_tokens();
  if (prepared.feature_rows() != features) {
    return Error(ErrorCode::kConflictingKeys,
                 fmt::format("a micro-batch has {} image tokens, its {} tiles make {} features",
                             prepared.feature_rows(), batch.pixels.size(0), features))
        .with_value(prepared.feature_rows())
        .with_limit(features);
  }
  for (std::size_t i = 1; i < batch.segment_offsets.size(); ++i) {
    prepared.segments.push_back(batch.segment_offsets[i] - batch.segment_offsets[i - 1]);
  }
  prepared.rotary = rotary_table(batch.positions, text.head_width, config.text.rope_theta, type);
  prepared.unit_vision_tokens = config.spec.vision.tokens_per_unit;
  batch.pixels = batch.pixels.to(type);
  prepared.batch = std::move(batch);
  return prepared;
}

}  // namespace omnibal::runtime
