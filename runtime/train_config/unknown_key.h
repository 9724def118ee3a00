// SPDX-License-Identifier: Apache-2.0
//
// The error for a key that train.toml does not have, with the one that was probably meant.
//
//   return unknown_key("optimizer.lrr", "train.toml");   // the nearest is "optimizer.lr"
//   return unknown_key("modle", "");                     // of a flag
//   error.where.key;
//
// Not for wrong values of known keys: codec::JsonFields tells those.
#pragma once

#include <string_view>

#include "omnibal/base/error.h"

namespace omnibal::runtime {

Error unknown_key(std::string_view typed, std::string_view origin);

}  // namespace omnibal::runtime
