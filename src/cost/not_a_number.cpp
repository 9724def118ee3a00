// SPDX-License-Identifier: Apache-2.0
#include "cost/not_a_number.h"

#include <array>

namespace omnibal::cost {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"NaN", "-NaN", "Infinity", "-Infinity"};

/// The length of the word that `rest` begins with; 0: none of them.
std::size_t word_length(std::string_view rest) {
  for (const std::string_view word : kWords) {
    if (rest.starts_with(word)) return word.size();
  }
  return 0;
}

}  // namespace

std::string not_a_number_as_null(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = in_string ? 0 : word_length(text.substr(i));
    if (length > 0) {
      out += "null";
      i += length;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    const bool escaped = in_string && text[i] == '\\' && i + 1 < text.size();
    out += text.substr(i, escaped ? 2 : 1);
    i += escaped ? 2 : 1;
  }
  return out;
}

}  // namespace omnibal::cost
