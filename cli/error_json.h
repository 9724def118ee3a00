// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "omnibal/base/error.h"
#include "omnibal/codec/json.h"

namespace omnibal::cli {

/// {"error": {"code", "message", "where", "value", "limit", "hint"}} of docs/formats.md; parts
/// that the error does not have are left out.
codec::Json error_json(const Error& error);

}  // namespace omnibal::cli
