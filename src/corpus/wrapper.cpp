// SPDX-License-Identifier: Apache-2.0
//
// {"name": {"token_lengths": "path", "repeat": 2}}: several length lists in one file. Other keys of
// a dataset (root, annotation, ...) are the business of those who read the samples.
#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "corpus/input_forms.h"
#include "omnibal/codec/json.h"

namespace omnibal::corpus {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kLeast = std::numeric_limits<double>::min();
constexpr double kMaxRepeat = INT32_MAX;

/// A name that stands twice in the wrapper itself is a dataset given twice.
Error name_twice_as_such(Error error) {
  const bool top_level = std::holds_alternative<std::monostate>(error.value);
  if (error.code != ErrorCode::kDuplicateKey || !top_level) return error;
  error.code = ErrorCode::kDuplicateName;
  error.message = fmt::format("duplicate name \"{}\"", error.where.key);
  error.hint = "every dataset of a wrapper needs a name of its own";
  return error;
}

Result<double> repeat_of(const JsonFields& fields, const std::string& name,
                         const std::string& wrapper) {
  OMNIBAL_ASSIGN(const double repeat, fields.number_or("repeat", 1, kLeast, kMaxRepeat));
  OMNIBAL_ASSIGN(const double same, fields.number_or("repeat_time", repeat, kLeast, kMaxRepeat));
  if (fields.has("repeat") && same != repeat) {
    return Error(ErrorCode::kConflictingKeys,
                 fmt::format("repeat is {} and repeat_time is {}", repeat, same))
        .in_file(wrapper)
        .at_key(name + ".repeat_time")
        .with_value(same)
        .with_limit(repeat)
        .with_hint("keep one of the two keys");
  }
  return same;
}

Result<Source> source_of(const std::string& name, const Json& dataset, const std::string& wrapper) {
  const JsonFields fields(dataset, wrapper, name);
  OMNIBAL_ASSIGN(const std::string listed, fields.text("token_lengths"));
  const std::filesystem::path folder = std::filesystem::path(wrapper).parent_path();
  Source source{.name = name, .path = (folder / listed).string(), .hash = ""};
  OMNIBAL_ASSIGN(source.repeat, repeat_of(fields, name, wrapper));
  OMNIBAL_ASSIGN(source.weight, fields.number_or("weight", 1, kSmallestWeight, kLargestWeight));
  return source;
}

Result<Json> parse_wrapper(const std::string& file, std::string_view text) {
  Result<Json> parsed = codec::parse_json(text, file);
  if (!parsed.ok()) return name_twice_as_such(std::move(parsed).error());
  if (parsed->empty()) {
    return Error(ErrorCode::kEmptyInput, "the object names no dataset").in_file(file);
  }
  if (parsed->contains("format")) {
    return Error(ErrorCode::kUnknownFormat, "this is neither a length list nor a wrapper")
        .in_file(file)
        .with_value((*parsed)["format"].dump())
        .with_hint("of a corpus, give the directory");
  }
  return parsed;
}

}  // namespace

Result<std::vector<std::string>> wrapped_names(const std::string& path, std::string_view text) {
  OMNIBAL_ASSIGN(const Json wrapper, parse_wrapper(path, text));
  std::vector<std::string> names;
  for (const auto& member : wrapper.get_ref<const Json::object_t&>()) names.push_back(member.first);
  return names;
}

Status read_wrapper(Loading& loading, const std::string& path, std::string_view text) {
  const std::string file = path == "-" ? "standard input" : path;
  OMNIBAL_ASSIGN(const Json wrapper, parse_wrapper(file, text));
  for (const auto& [name, dataset] : wrapper.get_ref<const Json::object_t&>()) {
    OMNIBAL_ASSIGN(Source source, source_of(name, dataset, file));
    const std::string listed = source.path;
    Status read = read_listed_lengths(loading, std::move(source));
    if (read.ok()) continue;
    Error error = std::move(read).error();
    if (error.code == ErrorCode::kFileNotFound) {
      error.where.key = name + ".token_lengths";
      error.hint = fmt::format("the path is relative to the folder of {}", file);
    }
    return error;
  }
  return {};
}

}  // namespace omnibal::corpus
