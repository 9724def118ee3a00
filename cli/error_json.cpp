// SPDX-License-Identifier: Apache-2.0
#include "cli/error_json.h"

namespace omnibal::cli {
namespace {

using codec::Json;

Json value_json(const ErrorValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

Json where_json(const Error::Where& where) {
  Json json = Json::object();
  if (!where.file.empty()) json["file"] = where.file;
  if (where.row) json["row"] = *where.row;
  if (!where.key.empty()) json["key"] = where.key;
  return json;
}

}  // namespace

codec::Json error_json(const Error& error) {
  Json body = {{"code", error_code_info(error.code).name}, {"message", error.message}};
  if (Json where = where_json(error.where); !where.empty()) body["where"] = where;
  if (Json value = value_json(error.value); !value.is_null()) body["value"] = value;
  if (Json limit = value_json(error.limit); !limit.is_null()) body["limit"] = limit;
  if (!error.hint.empty()) body["hint"] = error.hint;
  return {{"error", body}};
}

}  // namespace omnibal::cli
