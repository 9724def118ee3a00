// SPDX-License-Identifier: Apache-2.0
#include "corpus/length_row.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "corpus/json_value_check.h"
#include "corpus/row_reader.h"
#include "omnibal/codec/json.h"

namespace omnibal::corpus {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(RowReader::kPadding >= simdjson::SIMDJSON_PADDING);

enum Key : std::size_t { kVitNum, kTokenNum, kImageFlags, kImageFlag, kNumKeys };
constexpr std::string_view kWeight = "weight";
constexpr std::array<std::string_view, kNumKeys> kKeyNames = {"vit_num", "token_num", "image_flags",
                                                              "image_flag"};

using Found = std::array<std::optional<std::int64_t>, kNumKeys>;

Error row_error(ErrorCode code, std::int64_t row, std::string_view key, std::string_view text) {
  return Error(code, fmt::format("sample {}: {}", row, text)).at_row(row).at_key(std::string(key));
}

Error malformed(std::int64_t row, simdjson::error_code problem) {
  return row_error(ErrorCode::kMalformedJson, row, "",
                   fmt::format("malformed JSON ({})", simdjson::error_message(problem)));
}

const char* kind_of(ondemand::json_type type) {
  switch (type) {
    case ondemand::json_type::object:
      return "an object";
    case ondemand::json_type::array:
      return "a list";
    case ondemand::json_type::string:
      return "a text";
    case ondemand::json_type::boolean:
      return "true or false";
    case ondemand::json_type::null:
      return "null";
    case ondemand::json_type::number:
      break;
  }
  return "a number with a fraction or exponent";
}

Error wrong_type(std::int64_t row, std::string_view key, ondemand::json_type type,
                 std::string_view token) {
  constexpr std::size_t kShown = 40;
  return row_error(ErrorCode::kWrongType, row, key,
                   fmt::format("{} is {}, a whole number is needed", key, kind_of(type)))
      .with_value(std::string(token.substr(0, kShown)));
}

/// The number in 0..kMaxLength that `value` must be.
Result<double> weight_of(ondemand::value value, std::int64_t row, DuplicateKeys& keys) {
  ondemand::json_type type{};
  if (const auto problem = value.type().get(type)) return malformed(row, problem);
  const std::string_view token = trim_token(value.raw_json_token());
  if (type != ondemand::json_type::number) {
    if (const auto problem = check_value(value, keys)) return malformed(row, problem);
    return row_error(ErrorCode::kWrongType, row, kWeight, "weight must be a number");
  }
  if (!is_json_number(token)) return malformed(row, simdjson::NUMBER_ERROR);
  double number = 0;
  const auto problem = std::from_chars(token.data(), token.data() + token.size(), number).ec;
  if (problem == std::errc() && number >= 0 && number <= double{kMaxLength}) return number;
  return row_error(ErrorCode::kOutOfRange, row, kWeight,
                   fmt::format("weight is {}, from 0 to {} is allowed", token, kMaxLength))
      .with_value(std::string(token));
}

Error out_of_range(std::int64_t row, std::string_view key, std::string_view token, bool negative) {
  const std::int64_t limit = negative ? 0 : kMaxLength;
  return row_error(ErrorCode::kOutOfRange, row, key,
                   fmt::format("{} is {}, at {} {} is allowed", key, token,
                               negative ? "least" : "most", limit))
      .with_value(std::string(token))
      .with_limit(limit);
}

Error not_an_object(std::string_view text, std::int64_t row) {
  constexpr std::size_t kShown = 40;
  const auto parsed = codec::parse_json(text, "");
  if (!parsed.ok() && parsed.error().code != ErrorCode::kDuplicateKey) {
    return malformed(row, simdjson::TAPE_ERROR);
  }
  return row_error(ErrorCode::kWrongType, row, "", "an object is needed")
      .with_value(std::string(text.substr(0, kShown)));
}

/// The whole number in 0..kMaxLength that `value` must be.
Result<std::int64_t> length_of(ondemand::value value, std::int64_t row, std::string_view key,
                               DuplicateKeys& keys) {
  ondemand::json_type type{};
  if (const auto problem = value.type().get(type)) return malformed(row, problem);
  const std::string_view token = trim_token(value.raw_json_token());
  if (type != ondemand::json_type::number) {
    if (const auto problem = check_value(value, keys)) return malformed(row, problem);
    return wrong_type(row, key, type, token);
  }
  if (!is_json_number(token)) return malformed(row, simdjson::NUMBER_ERROR);
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (end != token.data() + token.size()) return wrong_type(row, key, type, token);
  if (problem == std::errc() && number >= 0 && number <= kMaxLength) return number;
  Error error = out_of_range(row, key, token, token.starts_with('-'));
  if (problem == std::errc()) error.value = number;
  return error;
}

Result<LengthRow> assemble(const Found& found, double weight, std::int64_t row) {
  for (const Key key : {kVitNum, kTokenNum}) {
    if (!found[key]) {
      return row_error(ErrorCode::kMissingKey, row, kKeyNames[key],
                       fmt::format("{} missing", kKeyNames[key]));
    }
  }
  const auto& flags = found[kImageFlags] ? found[kImageFlags] : found[kImageFlag];
  if (!flags) {
    return row_error(ErrorCode::kMissingKey, row, "image_flags", "image_flags missing");
  }
  if (found[kImageFlag] && *found[kImageFlag] != *flags) {
    return row_error(
               ErrorCode::kConflictingKeys, row, "image_flag",
               fmt::format("image_flags is {} and image_flag is {}", *flags, *found[kImageFlag]))
        .with_value(*found[kImageFlag])
        .with_limit(*flags)
        .with_hint("keep one of the two keys");
  }
  return LengthRow{*found[kVitNum], *found[kTokenNum], *flags, weight};
}

}  // namespace

struct LengthRowParser::State {
  ondemand::parser parser;
  DuplicateKeys keys;
};

LengthRowParser::LengthRowParser() : state_(std::make_unique<State>()) {}
LengthRowParser::LengthRowParser(LengthRowParser&&) noexcept = default;
LengthRowParser::~LengthRowParser() = default;

bool is_length_row(std::string_view text) {
  ondemand::parser parser;
  ondemand::document document;
  const simdjson::padded_string_view padded(text, text.size() + RowReader::kPadding);
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return true;
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return true;
  for (auto entry : object) {
    std::string_view key;
    if (entry.unescaped_key().get(key) != simdjson::SUCCESS) return true;
    if (std::ranges::find(kKeyNames, key) != kKeyNames.end()) return true;
  }
  return false;
}

Result<LengthRow> LengthRowParser::parse(std::string_view text, std::int64_t row) {
  if (!text.starts_with('{')) return not_an_object(text, row);
  ondemand::document document;
  const simdjson::padded_string_view padded(text, text.size() + RowReader::kPadding);
  if (const auto problem = state_->parser.iterate(padded).get(document)) {
    return malformed(row, problem);
  }
  ondemand::object object;
  if (const auto problem = document.get_object().get(object)) return malformed(row, problem);
  state_->keys.reset();
  Found found;
  double weight = 1;
  for (auto entry : object) {
    ondemand::field field;
    if (const auto problem = std::move(entry).get(field)) return malformed(row, problem);
    std::string_view key;
    if (const auto problem = field.unescaped_key().get(key)) return malformed(row, problem);
    state_->keys.add(key);
    const auto known = std::find(kKeyNames.begin(), kKeyNames.end(), key);
    if (key == kWeight) {
      OMNIBAL_ASSIGN(weight, weight_of(field.value(), row, state_->keys));
    } else if (known != kKeyNames.end()) {
      OMNIBAL_ASSIGN(found[static_cast<std::size_t>(known - kKeyNames.begin())],
                     length_of(field.value(), row, key, state_->keys));
    } else if (const auto problem = check_value(field.value(), state_->keys)) {
      return malformed(row, problem);
    }
  }
  state_->keys.end_object(0);
  if (const auto duplicate = state_->keys.duplicate()) {
    return row_error(ErrorCode::kDuplicateKey, row, *duplicate,
                     fmt::format("the key \"{}\" stands twice", *duplicate));
  }
  return assemble(found, weight, row);
}

}  // namespace omnibal::corpus
