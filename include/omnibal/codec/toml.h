// SPDX-License-Identifier: Apache-2.0
//
// TOML that people write (clusters, recipes, training), handed on as the same document tree as
// JSON, so that one set of checked getters (JsonFields) serves both.
#pragma once

#include <string>

#include "omnibal/codec/json.h"

namespace omnibal::codec {

/// Errors: kFileNotFound, kFileUnreadable, kMalformedToml (with line). Dates are refused.
Result<Json> read_toml(const std::string& path);
Result<Json> parse_toml(std::string_view text, const std::string& origin);

}  // namespace omnibal::codec
