// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "omnibal/codec/json.h"

namespace omnibal::codec {
namespace {

const char* kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_string()) return "a text";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.is_number_integer() ? "a whole number" : "a number with a fraction";
}

Error wrong_type(const Json& value, std::string_view key, const char* needed, Error error) {
  error.message = fmt::format("{} is {}, {} is needed", key, kind_of(value), needed);
  return error;
}

/// The whole number in `value`; kOutOfRange outside [min, max], kWrongType for anything else.
/// `blank` carries the place, and becomes the error.
Result<std::int64_t> checked_integer(const Json& value, std::string_view key, std::int64_t min,
                                     std::int64_t max, Error blank) {
  if (!value.is_number_integer()) {
    blank.code = ErrorCode::kWrongType;
    return wrong_type(value, key, "a whole number", std::move(blank));
  }
  const bool beyond_int64 =
      value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  const std::int64_t number = beyond_int64 ? INT64_MAX : value.get<std::int64_t>();
  if (!beyond_int64 && number >= min && number <= max) return number;
  blank.code = ErrorCode::kOutOfRange;
  blank.limit = number < min ? min : max;
  if (beyond_int64) {
    blank.value = value.dump();
  } else {
    blank.value = number;
  }
  blank.message = fmt::format("{} is {}, {} {} is allowed", key, value.dump(),
                              number < min ? "at least" : "at most", number < min ? min : max);
  return blank;
}

}  // namespace

JsonFields::JsonFields(const Json& object, std::string file, std::string path,
                       std::optional<std::int64_t> row)
    : object_(object), file_(std::move(file)), path_(std::move(path)), row_(row) {}

Error JsonFields::problem(ErrorCode code, std::string_view key, std::string message) const {
  Error error(code, std::move(message));
  error.where.file = file_;
  error.where.row = row_;
  error.where.key = path_;
  if (!path_.empty() && !key.empty()) error.where.key += '.';
  error.where.key += key;
  return error;
}

Result<const Json*> JsonFields::member(std::string_view key) const {
  if (!object_.is_object()) {
    const char* const what = path_.empty() ? "the document" : path_.c_str();
    return wrong_type(object_, what, "an object", problem(ErrorCode::kWrongType, "", ""));
  }
  const auto found = object_.find(key);
  if (found == object_.end()) {
    return problem(ErrorCode::kMissingKey, key, fmt::format("{} missing", key));
  }
  return &*found;
}

bool JsonFields::has(std::string_view key) const {
  return object_.is_object() && object_.contains(key);
}

Result<std::int64_t> JsonFields::integer(std::string_view key, std::int64_t min,
                                         std::int64_t max) const {
  OMNIBAL_ASSIGN(const Json* value, member(key));
  return checked_integer(*value, key, min, max, problem(ErrorCode::kWrongType, key, ""));
}

Result<std::int64_t> JsonFields::integer_or(std::string_view key, std::int64_t fallback,
                                            std::int64_t min, std::int64_t max) const {
  if (object_.is_object() && !has(key)) return fallback;
  return integer(key, min, max);
}

Result<double> JsonFields::number(std::string_view key, double min, double max) const {
  OMNIBAL_ASSIGN(const Json* value, member(key));
  if (!value->is_number()) {
    return wrong_type(*value, key, "a number", problem(ErrorCode::kWrongType, key, ""));
  }
  const double number = value->get<double>();
  if (std::isfinite(number) && number >= min && number <= max) return number;
  const bool too_low = number < min;
  Error error = problem(ErrorCode::kOutOfRange, key, "");
  error.value = number;
  if (std::isfinite(number)) {
    error.message = fmt::format("{} is {}, {} {} is allowed", key, number,
                                too_low ? "at least" : "at most", too_low ? min : max);
    error.limit = too_low ? min : max;
  } else {
    error.message = fmt::format("{} is {}, a finite number is needed", key, number);
  }
  return error;
}

Result<double> JsonFields::number_or(std::string_view key, double fallback, double min,
                                     double max) const {
  if (object_.is_object() && !has(key)) return fallback;
  return number(key, min, max);
}

Result<bool> JsonFields::boolean_or(std::string_view key, bool fallback) const {
  if (object_.is_object() && !has(key)) return fallback;
  return boolean(key);
}

Result<bool> JsonFields::boolean(std::string_view key) const {
  OMNIBAL_ASSIGN(const Json* value, member(key));
  if (value->is_boolean()) return value->get<bool>();
  return wrong_type(*value, key, "true or false", problem(ErrorCode::kWrongType, key, ""));
}

Result<std::string> JsonFields::text(std::string_view key) const {
  OMNIBAL_ASSIGN(const Json* value, member(key));
  if (value->is_string()) return value->get<std::string>();
  return wrong_type(*value, key, "a text", problem(ErrorCode::kWrongType, key, ""));
}

Result<std::string> JsonFields::text_or(std::string_view key, std::string fallback) const {
  if (object_.is_object() && !has(key)) return fallback;
  return text(key);
}

Result<std::vector<std::int64_t>> JsonFields::integers(std::string_view key, std::int64_t min,
                                                       std::int64_t max) const {
  OMNIBAL_ASSIGN(const Json* list, array(key));
  std::vector<std::int64_t> numbers;
  numbers.reserve(list->size());
  for (const Json& element : *list) {
    const std::string place = fmt::format("{}[{}]", key, numbers.size());
    OMNIBAL_ASSIGN(
        const std::int64_t number,
        checked_integer(element, place, min, max, problem(ErrorCode::kWrongType, place, "")));
    numbers.push_back(number);
  }
  return numbers;
}

Result<const Json*> JsonFields::object(std::string_view key) const {
  OMNIBAL_ASSIGN(const Json* value, member(key));
  if (value->is_object()) return value;
  return wrong_type(*value, key, "an object", problem(ErrorCode::kWrongType, key, ""));
}

Result<const Json*> JsonFields::array(std::string_view key) const {
  OMNIBAL_ASSIGN(const Json* value, member(key));
  if (value->is_array()) return value;
  return wrong_type(*value, key, "a list", problem(ErrorCode::kWrongType, key, ""));
}

Status JsonFields::only(std::initializer_list<std::string_view> known) const {
  return only(std::span(known.begin(), known.size()));
}

Status JsonFields::only(std::span<const std::string_view> known) const {
  if (!object_.is_object()) return member("").error();
  for (const auto& entry : object_.get_ref<const Json::object_t&>()) {
    if (std::find(known.begin(), known.end(), entry.first) != known.end()) continue;
    return problem(ErrorCode::kUnknownKey, entry.first,
                   fmt::format("unknown key \"{}\"", entry.first))
        .with_hint(fmt::format("known here: {}", fmt::join(known, ", ")));
  }
  return {};
}

}  // namespace omnibal::codec
