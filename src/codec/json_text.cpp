// SPDX-License-Identifier: Apache-2.0
//
// The text of a JSON document as people like to read it.
#include <algorithm>

#include "omnibal/codec/json.h"

namespace omnibal::codec {
namespace {

/// Strings that are not UTF-8 (file names may be anything) get the replacement character.
std::string scalar_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_row_of_numbers(const Json& array) {
  return std::all_of(array.begin(), array.end(),
                     [](const Json& element) { return element.is_number(); });
}

void append(const Json& value, std::size_t indent, std::string& text);

void append_member(const std::string* key, const Json& value, bool first, std::size_t indent,
                   std::string& text) {
  text += first ? "\n" : ",\n";
  text.append(indent, ' ');
  if (key != nullptr) text += scalar_text(*key) + ": ";
  append(value, indent, text);
}

void append(const Json& value, std::size_t indent, std::string& text) {
  constexpr std::size_t kStep = 2;
  const bool has_members = value.is_structured() && !value.empty();
  if (!has_members) {
    text += scalar_text(value);
  } else if (value.is_object()) {
    text += '{';
    bool first = true;
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      append_member(&key, member, std::exchange(first, false), indent + kStep, text);
    }
    text.append(1, '\n').append(indent, ' ') += '}';
  } else if (is_row_of_numbers(value)) {
    text += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) text += ", ";
      text += scalar_text(value[i]);
    }
    text += ']';
  } else {
    text += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      append_member(nullptr, value[i], i == 0, indent + kStep, text);
    }
    text.append(1, '\n').append(indent, ' ') += ']';
  }
}

}  // namespace

std::string to_text(const Json& document) {
  std::string text;
  append(document, 0, text);
  text += '\n';
  return text;
}

}  // namespace omnibal::codec
