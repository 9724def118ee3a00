// SPDX-License-Identifier: Apache-2.0
//
// Parameter counts by formula (docs/methods/cost.md), split by how tensor parallelism shards them.
//
//   const BlockParameters block = vision_block_parameters(model.vision);
//   block.total();        // 122,918,400 for InternViT-6B
//
// Not for layers of a ModelSpec: those carry their own count.
#pragma once

#include <cstdint>

#include "omnibal/model/model.h"

namespace omnibal::model {

/// Of one transformer block.
struct BlockParameters {
  std::int64_t attention_query = 0;  // query and output projections: split by query heads
  std::int64_t attention_kv = 0;     // key and value projections: split by key-value heads
  std::int64_t mlp = 0;              // split by the MLP's width
  std::int64_t whole = 0;            // norms, layer scale, output biases: on every device

  std::int64_t total() const { return attention_query + attention_kv + mlp + whole; }
};

BlockParameters vision_block_parameters(const VisionTower& tower);
BlockParameters llm_block_parameters(const LanguageModel& model);

/// Widths between which the linear layers of a block run.
struct BlockWidths {
  std::int64_t width = 0;
  std::int64_t query = 0;  // all query heads
  std::int64_t kv = 0;     // all key-value heads, of keys alone
  std::int64_t mlp = 0;
};
BlockWidths block_widths(const VisionTower& tower);
BlockWidths block_widths(const LanguageModel& model);

struct LinearWidths {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
LinearWidths linear_widths(const BlockWidths& block, AdapterTarget target);

/// rank x (in + out) of every adapter of a block.
std::int64_t adapter_parameters(const BlockWidths& block, const Adapters& adapters);

/// Patch convolution, class token, positions, pre-norm: never split.
std::int64_t patch_embedding_parameters(const VisionTower& tower);
std::int64_t projector_parameters(const Projector& projector);
/// The table of a vocabulary, in the token embedding and in an untied head.
std::int64_t vocabulary_parameters(const LanguageModel& model);

}  // namespace omnibal::model
