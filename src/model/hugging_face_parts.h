// SPDX-License-Identifier: Apache-2.0
//
// What the families of Hugging Face configurations have in common.
#pragma once

#include <string_view>

#include "omnibal/model/config_part.h"
#include "omnibal/model/model.h"

namespace omnibal::model {

inline constexpr std::int64_t kDefaultChannels = 3;  // of an image

/// What a text configuration that leaves something out means.
struct TextDefaults {
  std::string_view model_type = "";  // where it names none; empty: it must
  bool type_is_fixed = false;        // what it names does not count
  bool shape_of_the_class = false;   // no shape at all: that of the class (LLaVA files of 2023)
};

/// A text configuration of kind llama, qwen2, qwen3, internlm2 or mistral.
Result<LanguageModel> read_language_model(const ConfigPart& text, const TextDefaults& defaults);

/// A tower of fixed input size: its shape under the names that most use, and its patches; not its
/// tokens.
Result<VisionTower> read_tile_tower(const ConfigPart& vision, std::int64_t image_size);
/// Tokens of a tile, once it is known whether there is a class token.
void count_tokens(VisionTower& tower);

/// kOutOfRange unless the width is a multiple of the heads, which stand under `key`.
Status check_heads(const ConfigPart& vision, std::string_view key, const VisionTower& tower);
/// kUnsupportedModel unless `accepted`; `names` lists the types that are.
Status check_tower_type(const ConfigPart& vision, std::string_view type, bool accepted,
                        std::string_view names);

/// How many blocks run when hidden state `layer` is what the projector reads: state k is the
/// output of k blocks, negative numbers count from the last. Error: kOutOfRange.
Result<std::int64_t> blocks_used(const ConfigPart& root, std::string_view key, std::int64_t layer,
                                 std::int64_t num_layers);

}  // namespace omnibal::model
