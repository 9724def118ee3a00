// SPDX-License-Identifier: Apache-2.0
//
// The realised mix of sources for people.
#pragma once

#include <string>

#include "omnibal/codec/json.h"

namespace omnibal::cli {

/// A line a source, the largest first in tokens, and how evenly steps hold them. `keys`: the JSON
/// answer of `pack`.
std::string mix_text(const codec::Json& keys);

}  // namespace omnibal::cli
