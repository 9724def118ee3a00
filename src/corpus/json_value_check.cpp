// SPDX-License-Identifier: Apache-2.0
#include "corpus/json_value_check.h"

#include <algorithm>
#include <span>

namespace omnibal::corpus {
namespace {

using simdjson::error_code;
namespace ondemand = simdjson::ondemand;

std::size_t count_digits(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

/// A key that stands twice, or the end.
std::span<std::string_view>::iterator find_duplicate(std::span<std::string_view> keys) {
  constexpr std::size_t kFew = 8;  // keys that mostly differ in their lengths: no need to sort
  if (keys.size() > kFew) {
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end());
  }
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    if (std::find(key + 1, keys.end(), *key) != keys.end()) return key;
  }
  return keys.end();
}

error_code check_object(ondemand::value value, DuplicateKeys& keys) {
  ondemand::object object;
  if (const error_code problem = value.get_object().get(object)) return problem;
  const std::size_t begin = keys.begin_object();
  for (auto entry : object) {
    ondemand::field field;
    if (const error_code problem = std::move(entry).get(field)) return problem;
    std::string_view key;
    if (const error_code problem = field.unescaped_key().get(key)) return problem;
    keys.add(key);
    if (const error_code problem = check_value(field.value(), keys)) return problem;
  }
  keys.end_object(begin);
  return simdjson::SUCCESS;
}

error_code check_array(ondemand::value value, DuplicateKeys& keys) {
  ondemand::array array;
  if (const error_code problem = value.get_array().get(array)) return problem;
  for (auto entry : array) {
    ondemand::value element;
    if (const error_code problem = std::move(entry).get(element)) return problem;
    if (const error_code problem = check_value(element, keys)) return problem;
  }
  return simdjson::SUCCESS;
}

error_code check_null(ondemand::value value) {
  bool is_null = false;
  if (const error_code problem = value.is_null().get(is_null)) return problem;
  return is_null ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
}

}  // namespace

std::string_view trim_token(std::string_view token) {
  const std::size_t last = token.find_last_not_of(" \t\r\n");
  return token.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool is_json_number(std::string_view token) {
  if (token.starts_with('-')) token.remove_prefix(1);
  const std::size_t whole = count_digits(token);
  if (whole == 0 || (whole > 1 && token[0] == '0')) return false;
  token.remove_prefix(whole);
  if (token.starts_with('.')) {
    const std::size_t fraction = count_digits(token.substr(1));
    if (fraction == 0) return false;
    token.remove_prefix(1 + fraction);
  }
  if (token.empty()) return true;
  if (token[0] != 'e' && token[0] != 'E') return false;
  token.remove_prefix(1);
  if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
  return !token.empty() && count_digits(token) == token.size();
}

void DuplicateKeys::end_object(std::size_t begin) {
  const std::span<std::string_view> keys = std::span(keys_).subspan(begin);
  const auto found = find_duplicate(keys);
  if (found != keys.end() && !duplicate_) duplicate_ = *found;
  keys_.resize(begin);
}

error_code check_value(ondemand::value value, DuplicateKeys& keys) {
  ondemand::json_type type{};
  if (const error_code problem = value.type().get(type)) return problem;
  switch (type) {
    case ondemand::json_type::object:
      return check_object(value, keys);
    case ondemand::json_type::array:
      return check_array(value, keys);
    case ondemand::json_type::string:
      return value.get_string().error();
    case ondemand::json_type::boolean:
      return value.get_bool().error();
    case ondemand::json_type::null:
      return check_null(value);
    case ondemand::json_type::number:
      return is_json_number(trim_token(value.raw_json_token())) ? simdjson::SUCCESS
                                                                : simdjson::NUMBER_ERROR;
  }
  return simdjson::TAPE_ERROR;
}

}  // namespace omnibal::corpus
