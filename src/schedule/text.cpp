// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

/// In the order of ActionKind.
constexpr std::array<std::string_view, kNumActionKinds> kLetters = {"F",  "B",  "W", "SF",
                                                                    "RF", "SB", "RB"};

}  // namespace

std::string to_text(const Action& action) {
  return fmt::format("{}{}{}", action.stage.value(),
                     kLetters[static_cast<std::size_t>(action.kind)], action.micro_batch.value());
}

std::string to_text(std::span<const Action> actions) {
  std::string text;
  for (const Action& action : actions) {
    if (!text.empty()) text += ' ';
    text += to_text(action);
  }
  return text;
}

}  // namespace omnibal::schedule
