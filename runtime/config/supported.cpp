// SPDX-License-Identifier: Apache-2.0
#include "config/supported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace omnibal::runtime {
namespace {

using model::ConfigPart;

Error unsupported(const ConfigPart& part, std::string_view key, std::string value,
                  std::string supported) {
  return part
      .problem(ErrorCode::kUnsupportedModel, key,
               fmt::format("{} \"{}\" is not supported by the trainer", key, value))
      .with_value(std::move(value))
      .with_limit(std::move(supported));
}

Status plain_rotation(const ConfigPart& rope) {
  OMNIBAL_ASSIGN(const std::string old_name, rope.text_or("type", "default"));
  OMNIBAL_ASSIGN(const std::string type, rope.text_or("rope_type", old_name));
  if (type != "default") return unsupported(rope, "rope_type", type, "default");
  OMNIBAL_ASSIGN(const double share, rope.number_or("partial_rotary_factor", 1, 0, 1));
  if (share == 1) return {};
  return unsupported(rope, "partial_rotary_factor", fmt::format("{}", share), "1");
}

Result<double> rotary_base_of(const ConfigPart& part, double fallback) {
  constexpr double kLargest = 1e12;
  return part.number_or("rope_theta", fallback, 1, kLargest);
}

}  // namespace

Result<std::string> one_of(const ConfigPart& part, std::string_view key, std::string_view fallback,
                           std::initializer_list<std::string_view> words) {
  OMNIBAL_ASSIGN(std::string word, part.text_or(key, fallback));
  if (std::ranges::find(words, word) != words.end()) return word;
  return unsupported(part, key, std::move(word), fmt::format("{}", fmt::join(words, ", ")));
}

Status no_dropout(const ConfigPart& part, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    OMNIBAL_ASSIGN(const double probability, part.number_or(key, 0, 0, 1));
    if (probability != 0) return unsupported(part, key, fmt::format("{}", probability), "0");
  }
  return {};
}

Status full_attention(const ConfigPart& text, std::int64_t num_layers) {
  if (text.is_list("layer_types")) {
    OMNIBAL_ASSIGN(const std::vector<std::string> types, text.texts("layer_types"));
    for (const std::string& type : types) {
      if (type != "full_attention") {
        return unsupported(text, "layer_types", type, "full_attention");
      }
    }
    return {};
  }
  // Read only where layer_types is absent: blocks from max_window_layers on attend within a window.
  OMNIBAL_ASSIGN(const bool windows, text.flag_or("use_sliding_window", false));
  OMNIBAL_ASSIGN(const std::int64_t full_layers, text.integer_or("max_window_layers", 28));
  if (!windows || full_layers >= num_layers) return {};
  return unsupported(text, "use_sliding_window", "true", "false, or no block of sliding attention");
}

Result<double> rotary_base(const ConfigPart& text) {
  OMNIBAL_ASSIGN(const double flat, rotary_base_of(text, 10000));
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (!text.given(key)) continue;
    OMNIBAL_ASSIGN(ConfigPart rope, text.part(key));
    if (rope.given("full_attention")) {
      OMNIBAL_ASSIGN(rope, rope.part("full_attention"));
    }
    OMNIBAL_RETURN_IF_ERROR(plain_rotation(rope));
    return rotary_base_of(rope, flat);
  }
  return flat;
}

}  // namespace omnibal::runtime
