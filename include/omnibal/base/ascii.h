// SPDX-License-Identifier: Apache-2.0
//
// Letters of names that are compared in any case.
//
//   lower_ascii("InternVL2-26B");   // "internvl2-26b"
//   if (lower_ascii(typed) == preset.name) ...
//
// Not for text of a language: what is not A to Z stays as it is, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace omnibal {

/// `text` with a to z in place of A to Z.
std::string lower_ascii(std::string_view text);

}  // namespace omnibal
