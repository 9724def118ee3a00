// SPDX-License-Identifier: Apache-2.0
//
// Numbers of things in messages: "1 place", "2 places".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace omnibal::joint {

inline std::string counted(std::int64_t number, std::string_view thing) {
  std::string text = std::to_string(number);
  text += ' ';
  text += thing;
  if (number != 1) text += 's';
  return text;
}

}  // namespace omnibal::joint
