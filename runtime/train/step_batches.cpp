// SPDX-License-Identifier: Apache-2.0
#include "train/step_batches.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace omnibal::runtime {
namespace {

/// Packs that wait loaded beside the one that is being loaded.
constexpr std::size_t kLoadedAhead = 2;

template <class T>
at::Tensor copy_of(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  at::Tensor tensor = at::empty(shape, type);
  std::ranges::copy(values, tensor.mutable_data_ptr<T>());
  return tensor;
}

at::Tensor pixels_of(const PackArrays& pack, const BatchNeeds& needs) {
  const std::int64_t side = needs.model.spec.vision.image_size;
  const std::vector<std::int64_t> shape = {pack.num_tiles, 3, side, side};
  if (needs.pixels) return copy_of(pack.pixels, shape, at::kFloat);
  return at::empty({1, 1, 1, 1}, needs.type).expand(shape);
}

}  // namespace

MicroBatch micro_batch_of(const PackArrays& pack, const BatchNeeds& needs) {
  const std::int64_t tokens = pack.num_tokens();
  const at::ScalarType loss_type = needs.type == at::kDouble ? at::kDouble : at::kFloat;
  return {.ids = copy_of(pack.ids, {tokens}, at::kLong),
          .positions = copy_of(pack.positions, {tokens}, at::kLong),
          .segment_offsets = pack.segment_offsets,
          .labels = copy_of(pack.labels, {tokens}, at::kLong),
          .weights = copy_of(pack.weights, {tokens}, at::kDouble).to(loss_type),
          .pixels = pixels_of(pack, needs)};
}

StepBatches::StepBatches(const PackSource& source, const steps::StepReader& reader,
                         BatchNeeds needs)
    : needs_(std::move(needs)), ahead_(reader), prefetcher_(source, kLoadedAhead) {
  request_step();
}

void StepBatches::begin_step() {
  totals_ = {};
  request_step();
}

void StepBatches::request_step() {
  const std::vector<std::int64_t> packs = ahead_.packs();
  const std::int64_t dp = ahead_.cursor().ranks.dp;
  for (const MicroBatchIndex m : needs_.order) {
    prefetcher_.request(packs[static_cast<std::size_t>(m.value() * dp + needs_.dp_rank)]);
  }
  ahead_.advance();
}

Result<PreparedBatch> StepBatches::load(MicroBatchIndex, const std::function<void()>& on_wait) {
  OMNIBAL_ASSIGN(const PackArrays pack, prefetcher_.next(on_wait));
  totals_.weight += pack.weight_sum;
  totals_.tokens += pack.num_tokens();
  totals_.supervised += pack.num_supervised;
  totals_.tiles += pack.num_tiles;
  return prepare(micro_batch_of(pack, needs_), needs_.model, needs_.type);
}

}  // namespace omnibal::runtime
