// SPDX-License-Identifier: Apache-2.0
//
// The name that a user probably meant.
//
//   nearest_name("pakc", {"pack", "plan"});   // "pack"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace omnibal {

/// The member of `names` with the least edit distance to `typed`; the first of equals; empty if
/// there are no names. O(total length x |typed|).
std::string nearest_name(std::string_view typed, std::span<const std::string> names);

}  // namespace omnibal
