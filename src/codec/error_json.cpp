// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/error_json.h"

namespace omnibal::codec {
namespace {

Json value_json(const ErrorValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

ErrorValue value_of(const Json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end()) return {};
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (found->is_number()) return found->get<double>();
  if (found->is_string()) return found->get<std::string>();
  return {};
}

std::string text_of(const Json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : "";
}

Json where_json(const Error::Where& where) {
  Json json = Json::object();
  if (!where.file.empty()) json["file"] = where.file;
  if (where.row) json["row"] = *where.row;
  if (!where.key.empty()) json["key"] = where.key;
  return json;
}

Error::Where where_of(const Json& body) {
  const auto found = body.find("where");
  if (found == body.end()) return {};
  const ErrorValue row = value_of(*found, "row");
  const auto* const number = std::get_if<std::int64_t>(&row);
  return {text_of(*found, "file"), number != nullptr ? std::optional(*number) : std::nullopt,
          text_of(*found, "key")};
}

}  // namespace

Json error_json(const Error& error) {
  Json body = {{"code", error_code_info(error.code).name}, {"message", error.message}};
  if (Json where = where_json(error.where); !where.empty()) body["where"] = where;
  if (Json value = value_json(error.value); !value.is_null()) body["value"] = value;
  if (Json limit = value_json(error.limit); !limit.is_null()) body["limit"] = limit;
  if (!error.hint.empty()) body["hint"] = error.hint;
  return {{"error", body}};
}

std::optional<Error> error_of(const Json& json) {
  if (!json.is_object() || !json.contains("error") || !json["error"].is_object()) return {};
  const Json& body = json["error"];
  const std::optional<ErrorCode> code = error_code_named(text_of(body, "code"));
  if (!code) return {};
  Error error(*code, text_of(body, "message"));
  error.where = where_of(body);
  error.value = value_of(body, "value");
  error.limit = value_of(body, "limit");
  error.hint = text_of(body, "hint");
  return error;
}

}  // namespace omnibal::codec
