// SPDX-License-Identifier: Apache-2.0
//
// An error as JSON (docs/formats.md): what programs print with --json, and what a rank tells
// others.
//
//   const Json json = error_json(error);   // {"error": {"code": "wrong_type", ...}}
//   error_of(json);                        // the same error
//
// Not for people: to_text(error).
#pragma once

#include <optional>

#include "omnibal/base/error.h"
#include "omnibal/codec/json.h"

namespace omnibal::codec {

/// {"error": {"code", "message", "where", "value", "limit", "hint"}}; parts that the error does not
/// have are left out.
Json error_json(const Error& error);

/// What error_json wrote; nothing if `json` is not of that form.
std::optional<Error> error_of(const Json& json);

}  // namespace omnibal::codec
