// SPDX-License-Identifier: Apache-2.0
//
// MicroBatch: one pack as a model takes it: the tokens of its samples one after the other, and the
// pixels of their pictures in the order of their places. PreparedBatch: with what all layers derive
// from it, computed once.
//
//   MicroBatch batch{ids_T, positions_T, {0, 100, 128}, labels_T, weights_T, pixels_U3HW};
//   OMNIBAL_ASSIGN(const PreparedBatch prepared, prepare(std::move(batch), config, at::kFloat));
//   prepared.vision_rows();    // tokens of the vision tower, of all units
//
// Not padded: nothing depends on how long other packs are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/runtime/config/model_config.h"
#include "omnibal/runtime/layers/rotary.h"

namespace omnibal::runtime {

/// The label of a position that is not supervised.
inline constexpr std::int64_t kNoLabel = -100;

struct MicroBatch {
  at::Tensor ids;                             // [T] int64
  at::Tensor positions;                       // [T] int64, restarting at 0 in each segment
  std::vector<std::int64_t> segment_offsets;  // [samples + 1], from 0 to T
  at::Tensor labels;   // [T] int64, the token that follows in the segment, or kNoLabel
  at::Tensor weights;  // [T] real: what a position's loss counts
  at::Tensor pixels;   // [U, 3, side, side]; U may be 0
};

struct PreparedBatch {
  MicroBatch batch;
  std::vector<std::int64_t> segments;  // lengths
  RotaryTable rotary;
  at::Tensor image_places;  // [units * tokens a unit]: where vision features stand
  at::Tensor supervised;    // [N] positions with a label
  at::Tensor targets;       // [N] their labels
  at::Tensor factors;       // [N] their weights
  std::int64_t unit_vision_tokens = 0;

  std::int64_t tokens() const { return batch.ids.size(0); }
  std::int64_t units() const { return batch.pixels.size(0); }
  std::int64_t vision_rows() const { return units() * unit_vision_tokens; }
  std::int64_t feature_rows() const { return image_places.size(0); }
};

/// `type`: of the model's computation. Error: kConflictingKeys where the pictures' places do not
/// fit their number, kOutOfRange where a token or label is no word of the vocabulary, an offset is
/// out of order or a tensor has another size than the others.
Result<PreparedBatch> prepare(MicroBatch batch, const ModelConfig& config, at::ScalarType type);

}  // namespace omnibal::runtime
