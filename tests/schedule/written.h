// SPDX-License-Identifier: Apache-2.0
//
// Actions as a test writes them: the inverse of to_text.
//
//   s.ranks = {actions_of("0F0 0F1 0B0 0B1"), actions_of("1F0 1B0 1F1 1B1")};
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

/// The one action of these indices whose text is `text`; none fails the test.
inline Action action_of(const std::string& text) {
  std::istringstream rest(text);
  std::int32_t stage = -1;
  rest >> stage;
  const std::int32_t micro_batch = std::stoi(text.substr(text.find_last_not_of("0123456789") + 1));
  for (int kind = 0; kind < kNumActionKinds; ++kind) {
    const Action action{static_cast<ActionKind>(kind), StageIndex{stage},
                        MicroBatchIndex{micro_batch}};
    if (to_text(action) == text) return action;
  }
  ADD_FAILURE() << text << " is no action";
  return {};
}

/// Actions separated by blanks.
inline std::vector<Action> actions_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<Action> actions;
  for (std::string word; words >> word;) actions.push_back(action_of(word));
  return actions;
}

}  // namespace omnibal::schedule
