// SPDX-License-Identifier: Apache-2.0
//
// The vision towers and language models that are known by name, and the presets made of them.
#pragma once

#include <span>
#include <string_view>

#include "omnibal/model/model.h"

namespace omnibal::model {

struct KnownTower {
  VisionTower tower;
  bool pixel_shuffle = true;  // four patches make one LLM token (InternVL); false: LLaVA
};

struct Preset {
  std::string_view name;
  std::string_view vision;
  std::string_view language;
};

std::span<const KnownTower> known_towers();
std::span<const LanguageModel> known_language_models();
std::span<const Preset> known_presets();

/// Lower case, with the suffix that other releases of the same part carry removed: "-448px".
std::string canonical_name(std::string_view name);

/// InternVL: LayerNorm, Linear, GELU, Linear on four patches shuffled into one token. LLaVA: the
/// same on single patches, without the norm.
Projector projector_of(const VisionTower& tower, bool pixel_shuffle, std::int64_t llm_width);

}  // namespace omnibal::model
