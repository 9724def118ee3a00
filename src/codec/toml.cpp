// SPDX-License-Identifier: Apache-2.0
//
// The only file that includes toml++. Debian's compiled library throws parse errors: they end here.
#include "omnibal/codec/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "omnibal/codec/files.h"

namespace omnibal::codec {
namespace {

// toml++ itself refuses tables and arrays nested deeper than 256, so that recursion is safe.
Result<Json> to_json(const toml::node& node, const std::string& origin) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) {
      OMNIBAL_ASSIGN(object[std::string(key.str())], to_json(value, origin));
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& element : *array) {
      OMNIBAL_ASSIGN(Json value, to_json(element, origin));
      list.push_back(std::move(value));
    }
    return list;
  }
  if (const auto* text = node.as_string()) return Json(text->get());
  if (const auto* whole = node.as_integer()) return Json(whole->get());
  if (const auto* real = node.as_floating_point()) return Json(real->get());
  if (const auto* truth = node.as_boolean()) return Json(truth->get());
  return Error(ErrorCode::kMalformedToml,
               fmt::format("line {} holds a date or time, which no key takes",
                           node.source().begin.line))
      .in_file(origin);
}

}  // namespace

Result<Json> parse_toml(std::string_view text, const std::string& origin) {
  try {
    const toml::table table = toml::parse(text);
    return to_json(table, origin);
  } catch (const toml::parse_error& problem) {
    const toml::source_position place = problem.source().begin;
    return Error(ErrorCode::kMalformedToml,
                 fmt::format("malformed TOML at line {}, column {}: {}", place.line, place.column,
                             problem.description()))
        .in_file(origin);
  }
}

Result<Json> read_toml(const std::string& path) {
  OMNIBAL_ASSIGN(const std::string text, read_file(path));
  return parse_toml(text, path == "-" ? "standard input" : path);
}

}  // namespace omnibal::codec
