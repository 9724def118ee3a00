// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

/// In the order of ActionKind.
constexpr std::array<std::string_view, kNumActionKinds> kLetters = {"F",  "B",  "W", "SF",
                                                                    "RF", "SB", "RB"};

std::optional<ActionKind> parse_letters(std::string_view letters) {
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    if (kLetters[i] == letters) return static_cast<ActionKind>(i);
  }
  return std::nullopt;
}

/// A whole number without sign that fills `text`.
std::optional<std::int32_t> parse_index(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBlanks = " \t\r\n";

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

Result<Action> parse_action(std::string_view text) {
  const std::size_t letters = std::min(text.find_first_not_of(kDigits), text.size());
  const std::size_t digits = std::min(text.find_first_of(kDigits, letters), text.size());
  const auto stage = parse_index(text.substr(0, letters));
  const auto kind = parse_letters(text.substr(letters, digits - letters));
  const auto micro_batch = parse_index(text.substr(digits));
  if (stage && kind && micro_batch) {
    return Action{*kind, StageIndex{*stage}, MicroBatchIndex{*micro_batch}};
  }
  return Error(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no action of a schedule", text))
      .with_value(std::string(text))
      .with_hint("write stage, one of F B W SF RF SB RB, micro-batch: 2F0");
}

Result<std::vector<Action>> parse_actions(std::string_view text) {
  std::vector<Action> actions;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    OMNIBAL_ASSIGN(const Action action, parse_action(text.substr(begin, end - begin)));
    actions.push_back(action);
    begin = text.find_first_not_of(kBlanks, end);
  }
  return actions;
}

}  // namespace omnibal::schedule
