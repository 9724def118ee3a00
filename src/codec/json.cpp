// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "omnibal/codec/atomic_write.h"
#include "omnibal/codec/files.h"

namespace omnibal::codec {
namespace {

constexpr std::size_t kMaxDepth = 200;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// "line 3, column 5" of byte `offset` (0-based); both count from 1, columns in bytes.
std::string place_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, before.size() - line_begin + 1);
}

/// nlohmann's sentence without its own name and position.
std::string plain_reason(std::string_view what) {
  for (const std::string_view mark : {": syntax error ", "] "}) {
    const std::size_t at = what.find(mark);
    if (at != std::string_view::npos) return std::string(what.substr(at + mark.size()));
  }
  return std::string(what);
}

/// Builds the document while the text is read, and refuses what the parser itself would let pass:
/// a key given twice, and nesting so deep that walking the document could overflow the stack.
class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder(std::string_view text, const std::string& origin)
      : text_(text), origin_(origin) {}

  Result<Json> take() && {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

  bool null() override { return add(nullptr), true; }
  bool boolean(bool value) override { return add(value), true; }
  bool number_integer(std::int64_t value) override { return add(value), true; }
  bool number_unsigned(std::uint64_t value) override { return add(value), true; }
  bool number_float(double value, const std::string&) override { return add(value), true; }
  bool string(std::string& value) override { return add(std::move(value)), true; }
  bool binary(Json::binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }

  bool key(std::string& name) override {
    Level& level = open_.back();
    if (!level.keys.insert(name).second) {
      error_ = Error(ErrorCode::kDuplicateKey, fmt::format("the key \"{}\" stands twice", name))
                   .in_file(origin_)
                   .at_key(name);
      if (!level.place.empty()) error_->value = level.place;
      return false;
    }
    level.next_key = name;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    // `position` counts the characters read, the offending one included.
    const std::size_t offset = position > 0 ? position - 1 : 0;
    error_ = Error(ErrorCode::kMalformedJson,
                   fmt::format("malformed JSON at {}: {}", place_in(text_, offset),
                               plain_reason(problem.what())))
                 .in_file(origin_);
    return false;
  }

 private:
  struct Level {
    Json* container;
    std::string place;  // "layers[3]"; empty: the document
    std::unordered_set<std::string> keys;
    std::string next_key;
  };

  template <class T>
  Json* add(T&& value) {
    if (open_.empty()) return &(root_ = std::forward<T>(value));
    Level& level = open_.back();
    if (level.container->is_array()) {
      auto& elements = level.container->get_ref<Json::array_t&>();
      return &elements.emplace_back(std::forward<T>(value));
    }
    // The base vector's emplace_back: keys are known to be new, so no search through all of them.
    auto& members = level.container->get_ref<Json::object_t&>();
    return &members.Container::emplace_back(std::move(level.next_key), std::forward<T>(value))
                .second;
  }

  bool open(Json container) {
    if (open_.size() == kMaxDepth) {
      error_ = Error(ErrorCode::kMalformedJson, "JSON is nested too deeply")
                   .in_file(origin_)
                   .with_limit(static_cast<std::int64_t>(kMaxDepth));
      return false;
    }
    std::string place = place_of_next();
    open_.push_back({add(std::move(container)), std::move(place), {}, {}});
    return true;
  }

  std::string place_of_next() const {
    if (open_.empty()) return "";
    const Level& level = open_.back();
    if (level.container->is_array()) {
      return fmt::format("{}[{}]", level.place, level.container->size());
    }
    return level.place.empty() ? level.next_key : level.place + "." + level.next_key;
  }

  std::string_view text_;
  const std::string& origin_;
  Json root_;
  std::vector<Level> open_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& origin) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error(ErrorCode::kEmptyInput, "the file is empty").in_file(origin);
  }
  DocumentBuilder builder(text, origin);
  Json::sax_parse(text, &builder);
  return std::move(builder).take();
}

Result<Json> read_json(const std::string& path) {
  OMNIBAL_ASSIGN(const std::string text, read_file(path));
  return parse_json(text, path == "-" ? "standard input" : path);
}

Status write_json(const std::string& path, const Json& document) {
  return write_file_atomically(path, to_text(document));
}

Status check_format(const Json& document, const std::string& file, std::string_view format,
                    std::int64_t newest) {
  const JsonFields fields(document, file);
  OMNIBAL_ASSIGN(const std::string found, fields.text("format"));
  if (found != format) {
    return Error(ErrorCode::kUnknownFormat, fmt::format("this is not a file of format {}", format))
        .in_file(file)
        .at_key("format")
        .with_value(found)
        .with_limit(std::string(format));
  }
  OMNIBAL_ASSIGN(const std::int64_t version, fields.integer("version", 1, INT64_MAX));
  if (version > newest) {
    return Error(ErrorCode::kUnsupportedVersion, "the file was written by a newer version")
        .in_file(file)
        .at_key("version")
        .with_value(version)
        .with_limit(newest)
        .with_hint("use a newer omnibal to read it");
  }
  return {};
}

}  // namespace omnibal::codec
