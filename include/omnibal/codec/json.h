// SPDX-License-Identifier: Apache-2.0
//
// JSON documents of moderate size (configurations, profiles, plans), checked: malformed text, a
// key given twice and nesting deeper than 200 are errors that name the place. Sample lists with
// millions of rows go through simdjson in room corpus instead.
//
//   OMNIBAL_ASSIGN(const Json root, read_json("profile.json"));
//   const JsonFields fields(root, "profile.json");
//   OMNIBAL_ASSIGN(const int64_t version, fields.integer("version", 1, 1));
//
// Not for documents that do not fit in memory several times.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::codec {

/// Keys keep the order in which they were written: files read as they were meant.
using Json = nlohmann::ordered_json;

/// `origin` is named in errors. A byte order mark is skipped; NaN and Infinity are malformed.
/// Errors: kEmptyInput; kMalformedJson with line and column (both from 1); kDuplicateKey with the
/// key in `where` and, inside of the document, its object's place ("layers[3]") as `value`.
Result<Json> parse_json(std::string_view text, const std::string& origin);

/// parse_json of a file ("-": standard input). Also kFileNotFound, kFileUnreadable.
Result<Json> read_json(const std::string& path);

/// Two-space indented text with a final newline; numbers in their shortest exact form, whatever
/// the locale. Arrays of numbers stay on one line.
std::string to_text(const Json& document);

/// Written atomically (atomic_write.h). Error: kWriteFailed.
Status write_json(const std::string& path, const Json& document);

/// Checked access to the members of one JSON object. Each getter fails with kMissingKey,
/// kWrongType or kOutOfRange, naming `file`, `row` (if given) and the key's path.
class JsonFields {
 public:
  /// `object` must outlive this. `path` is the object's own place: "layers[3]".
  JsonFields(const Json& object, std::string file, std::string path = "",
             std::optional<std::int64_t> row = std::nullopt);

  bool has(std::string_view key) const;
  Result<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                                  std::int64_t max) const;
  /// A finite number within [min, max].
  Result<double> number(std::string_view key, double min, double max) const;
  Result<double> number_or(std::string_view key, double fallback, double min, double max) const;
  Result<bool> boolean(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::string> text(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string fallback) const;
  Result<std::vector<std::int64_t>> integers(std::string_view key, std::int64_t min,
                                             std::int64_t max) const;
  /// A member that must be an object or an array; the pointer lives as long as the document.
  Result<const Json*> object(std::string_view key) const;
  Result<const Json*> array(std::string_view key) const;
  /// kUnknownKey if the object has a key outside `known` (for files that people write by hand).
  Status only(std::initializer_list<std::string_view> known) const;
  Status only(std::span<const std::string_view> known) const;

 private:
  Result<const Json*> member(std::string_view key) const;
  Error problem(ErrorCode code, std::string_view key, std::string message) const;

  const Json& object_;
  std::string file_;
  std::string path_;
  std::optional<std::int64_t> row_;
};

/// `format` and `version` of a file of ours: kUnknownFormat, kUnsupportedVersion (from
/// 1..`newest` are read).
Status check_format(const Json& document, const std::string& file, std::string_view format,
                    std::int64_t newest);

}  // namespace omnibal::codec
