// SPDX-License-Identifier: Apache-2.0
//
// The name that a user probably meant.
//
//   const std::vector<std::string> names = {"h200", "a100-80g"};
//   nearest_name("a100", names);   // "a100-80g": it starts so
//   nearest_name("h20", names);    // "h200"
//
// Not a look-up: the answer is for a message, never taken in place of what was typed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace omnibal {

/// Of the members of `names` that start with `typed`, or of all if none does, the one with the
/// least edit distance to it; case counts nowhere. The first of equals; empty if there are no
/// names. O(total length x |typed|).
std::string nearest_name(std::string_view typed, std::span<const std::string> names);

}  // namespace omnibal
