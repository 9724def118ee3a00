// SPDX-License-Identifier: Apache-2.0
//
// TOML that people write (clusters, recipes, training), handed on as the same document tree as
// JSON, so that one set of checked getters (JsonFields) serves both.
//
//   OMNIBAL_ASSIGN(const Json root, read_toml("cluster.toml"));
//   const JsonFields fields(root, "cluster.toml");
//   OMNIBAL_ASSIGN(const double rate, fields.number("tflops", 0, 1e6));
//
// Not for the flags of a command: --config is read by the command line.
#pragma once

#include <string>

#include "omnibal/codec/json.h"

namespace omnibal::codec {

/// Errors: kFileNotFound, kFileUnreadable, kMalformedToml (with line). Dates are refused.
/// Keys are in alphabetical order: TOML does not tell in which they stood.
Result<Json> read_toml(const std::string& path);
Result<Json> parse_toml(std::string_view text, const std::string& origin);

}  // namespace omnibal::codec
