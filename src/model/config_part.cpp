// SPDX-License-Identifier: Apache-2.0
#include "omnibal/model/config_part.h"

#include <fmt/format.h>

namespace omnibal::model {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = 10'000;

}  // namespace

bool ConfigPart::given(std::string_view key) const {
  return object_->is_object() && object_->contains(key) && !(*object_)[key].is_null();
}

std::string ConfigPart::place(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Error ConfigPart::problem(ErrorCode code, std::string_view key, std::string message) const {
  return Error(code, std::move(message)).in_file(file_).at_key(place(key));
}

Result<std::int64_t> ConfigPart::layer_count(std::string_view key) const {
  return fields().integer(key, 1, kMostLayers);
}

Result<std::int64_t> ConfigPart::size(std::string_view key) const {
  return fields().integer(key, 1, kLargestSize);
}

Result<std::int64_t> ConfigPart::size_or(std::string_view key, std::int64_t fallback) const {
  return given(key) ? size(key) : fallback;
}

Result<std::int64_t> ConfigPart::integer_or(std::string_view key, std::int64_t fallback) const {
  return given(key) ? fields().integer(key, -kLargestSize, kLargestSize) : fallback;
}

Result<double> ConfigPart::number_or(std::string_view key, double fallback, double min,
                                     double max) const {
  return given(key) ? fields().number(key, min, max) : fallback;
}

Result<bool> ConfigPart::flag_or(std::string_view key, bool fallback) const {
  return given(key) ? fields().boolean_or(key, fallback) : fallback;
}

Result<std::string> ConfigPart::text_or(std::string_view key, std::string_view fallback) const {
  return given(key) ? fields().text(key) : Result<std::string>(std::string(fallback));
}

Result<std::vector<std::int64_t>> ConfigPart::integers(std::string_view key, std::int64_t min,
                                                       std::int64_t max) const {
  return fields().integers(key, min, max);
}

Result<std::vector<std::string>> ConfigPart::texts(std::string_view key) const {
  OMNIBAL_ASSIGN(const codec::Json* list, fields().array(key));
  std::vector<std::string> texts;
  for (const codec::Json& item : *list) {
    if (!item.is_string()) {
      return problem(ErrorCode::kWrongType, key,
                     fmt::format("{} holds something else than texts", key));
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

bool ConfigPart::is_list(std::string_view key) const {
  return given(key) && (*object_)[key].is_array();
}

Result<std::int64_t> ConfigPart::square_side(std::string_view key) const {
  if (!is_list(key)) return size(key);
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> sides, integers(key, 1, kLargestSize));
  if (sides.size() == 2 && sides[0] == sides[1]) return sides[0];
  return problem(ErrorCode::kOutOfRange, key, fmt::format("{} is not a square", key))
      .with_value(fmt::format("[{}]", fmt::join(sides, ", ")));
}

Result<ConfigPart> ConfigPart::part(std::string_view key) const {
  OMNIBAL_ASSIGN(const codec::Json* member, fields().object(key));
  return ConfigPart(*member, file_, place(key));
}

}  // namespace omnibal::model
