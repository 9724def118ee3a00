// SPDX-License-Identifier: Apache-2.0
//
// The table "unit" of corpus.json and of a recipe. Private to the room.
#pragma once

#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

/// {"name", "vision_tokens" >= 1, "llm_tokens" >= 0}, at most kMaxLength each. Errors: kMissingKey,
/// kWrongType, kOutOfRange.
Result<VisionUnit> read_vision_unit(const codec::JsonFields& unit);

}  // namespace omnibal::corpus
