// SPDX-License-Identifier: Apache-2.0
//
// Refusals: what a configuration may ask for and the trainer does not compute.
//
//   OMNIBAL_ASSIGN(const std::string norm, one_of(vision, "norm_type", "rms_norm", {"rms_norm"}));
//   OMNIBAL_RETURN_IF_ERROR(no_dropout(text, {"attention_dropout"}));
//   OMNIBAL_ASSIGN(const double theta, rotary_base(text));
//
// Not for shapes: the planner's reader checks those.
#pragma once

#include <initializer_list>
#include <string_view>

#include "omnibal/model/config_part.h"

namespace omnibal::runtime {

/// The text at `key`, if it is one of `words`. Error: kUnsupportedModel.
Result<std::string> one_of(const model::ConfigPart& part, std::string_view key,
                           std::string_view fallback,
                           std::initializer_list<std::string_view> words);

/// Each key is absent or 0. Error: kUnsupportedModel.
Status no_dropout(const model::ConfigPart& part, std::initializer_list<std::string_view> keys);

/// All blocks attend everything before them; positions turn at full width, unscaled.
Status full_attention(const model::ConfigPart& text, std::int64_t num_layers);
Result<double> rotary_base(const model::ConfigPart& text);

}  // namespace omnibal::runtime
