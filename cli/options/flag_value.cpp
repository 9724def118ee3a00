// SPDX-License-Identifier: Apache-2.0
#include "cli/options/flag_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

Error wrong_value(const Flag& flag, const std::string& text, const std::string& accepted) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{} takes {}", flag.name, accepted))
      .at_key(flag.name)
      .with_value(text)
      .with_hint("see --help");
}

std::string accepted_range(const Flag& flag) {
  if (flag.min && flag.max)
    return fmt::format("a whole number from {} to {}", *flag.min, *flag.max);
  if (flag.min) return fmt::format("a whole number of at least {}", *flag.min);
  if (flag.max) return fmt::format("a whole number of at most {}", *flag.max);
  return "a whole number";
}

std::string accepted_number(const Flag& flag) {
  return flag.above ? fmt::format("a number above {}", *flag.above) : "a finite number";
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && rest == end;
}

Status parse_one(const Flag& flag, const std::string& text, std::int64_t& value) {
  const bool in_range = parse_number(text, value) && (!flag.min || value >= *flag.min) &&
                        (!flag.max || value <= *flag.max);
  if (!in_range) return wrong_value(flag, text, accepted_range(flag));
  return {};
}

Status parse_one(const Flag& flag, const std::string& text, double& value) {
  if (!parse_number(text, value) || !std::isfinite(value) ||
      (flag.above && value <= static_cast<double>(*flag.above))) {
    return wrong_value(flag, text, accepted_number(flag));
  }
  return {};
}

Status parse_one(const Flag& flag, const std::string& text, std::string& value) {
  const bool is_path = is_positional(flag) || flag.value_name == "DIR" || flag.value_name == "FILE";
  if (is_path && text.empty()) return wrong_value(flag, "\"\"", "a name, not an empty text");
  if (!flag.choices.empty() && std::ranges::find(flag.choices, text) == flag.choices.end()) {
    return wrong_value(flag, text, fmt::format("one of: {}", fmt::join(flag.choices, ", ")));
  }
  value = text;
  return {};
}

Status parse_one(const Flag& flag, const std::string& text, ByteSize& value) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) {
    return wrong_value(flag, text, "a size: 70GB (10^9 bytes), 70GiB (2^30) or a number of bytes");
  }
  value.bytes = *bytes;
  return {};
}

Status parse_one(const Flag& flag, const std::string& text, bool& value) {
  if (text != "true" && text != "false") return wrong_value(flag, text, "true or false");
  value = text == "true";
  return {};
}

template <class T>
Status parse_into(const Flag& flag, const std::vector<std::string>& words, T& target) {
  if (words.size() != 1) return wrong_value(flag, "a list", "one value");
  return parse_one(flag, words.back(), target);
}

template <class T>
Status parse_into(const Flag& flag, const std::vector<std::string>& words,
                  std::optional<T>& target) {
  if (words.size() != 1) return wrong_value(flag, "a list", "one value");
  return parse_one(flag, words.back(), target.emplace());
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <class T>
Status parse_into(const Flag& flag, const std::vector<std::string>& words, std::vector<T>& target) {
  target.clear();
  for (const std::string& word : words) {
    // File names may hold commas: only flags, never positional words, are lists in one word.
    const auto parts = is_positional(flag) ? std::vector{word} : split_at_commas(word);
    for (const std::string& part : parts) {
      OMNIBAL_RETURN_IF_ERROR(parse_one(flag, part, target.emplace_back()));
    }
  }
  return {};
}

std::string shown(bool) { return ""; }
std::string shown(std::int64_t value) { return fmt::format("{}", value); }
std::string shown(double value) { return fmt::format("{}", value); }
std::string shown(const std::string& value) { return value; }
std::string shown(const ByteSize& value) { return format_bytes(value.bytes); }
template <class T>
std::string shown(const std::vector<T>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}
template <class T>
std::string shown(const std::optional<T>& value) {
  return value ? shown(*value) : "";
}

}  // namespace

Status set_flag(const Flag& flag, const std::vector<std::string>& words) {
  return std::visit([&](auto* target) { return parse_into(flag, words, *target); }, flag.target);
}

std::string flag_value(const Flag& flag) {
  return std::visit([](const auto* target) { return shown(*target); }, flag.target);
}

bool is_switch(const Flag& flag) { return std::holds_alternative<bool*>(flag.target); }

bool is_positional(const Flag& flag) { return !flag.name.starts_with("-"); }

bool takes_many(const Flag& flag) {
  return std::holds_alternative<std::vector<std::string>*>(flag.target) ||
         std::holds_alternative<std::vector<std::int64_t>*>(flag.target);
}

}  // namespace omnibal::cli
