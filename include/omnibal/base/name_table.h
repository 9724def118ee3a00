// SPDX-License-Identifier: Apache-2.0
//
// The words that users write for the values of an enumeration, as one constant table.
//
//   constexpr std::array kTails = {Named{Tail::kDrop, "drop"}, Named{Tail::kRepeat, "repeat"}};
//   name_in(kTails, Tail::kDrop);                           // "drop"
//   parse_name(kTails, "tail policy", "tail", "repaet");    // error: the nearest is "repeat"
//
// Not for names that carry more than a value (presets of models and clusters).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

/// kInvalidArgument that names what there is and the nearest: `what` as in "there is no <what>",
/// `key` as in the file or flag.
Error unknown_name(std::string_view what, std::string_view key, std::string_view typed,
                   std::span<const std::string> names);

/// The name of `value`; empty if the table lacks it.
template <class E, std::size_t N>
constexpr std::string_view name_in(const std::array<Named<E>, N>& table, E value) {
  for (const Named<E>& row : table) {
    if (row.value == value) return row.name;
  }
  return "";
}

/// All names, in the order of the table.
template <class E, std::size_t N>
std::vector<std::string> names_in(const std::array<Named<E>, N>& table) {
  std::vector<std::string> names;
  for (const Named<E>& row : table) names.emplace_back(row.name);
  return names;
}

/// The value called `typed`, or unknown_name.
template <class E, std::size_t N>
Result<E> parse_name(const std::array<Named<E>, N>& table, std::string_view what,
                     std::string_view key, std::string_view typed) {
  for (const Named<E>& row : table) {
    if (row.name == typed) return row.value;
  }
  return unknown_name(what, key, typed, names_in(table));
}

}  // namespace omnibal
