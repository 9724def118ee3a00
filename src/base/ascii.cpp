// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/ascii.h"

#include <algorithm>

namespace omnibal {

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

}  // namespace omnibal
