// SPDX-License-Identifier: Apache-2.0
#include "safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "omnibal/codec/json.h"
#include "safetensors/tensor_size.h"

namespace omnibal::runtime {
namespace {

using codec::Json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // as the reference implementation

Error malformed(const std::string& path, std::string message) {
  return Error(ErrorCode::kMalformedSafetensors, std::move(message))
      .in_file(path)
      .with_hint("copy or download the file again");
}

/// The JSON text, if the length before it is honest.
Result<std::string_view> header_text(std::span<const std::byte> file, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < kLengthBytes) {
    return malformed(path, "the file is too short for a safetensors header")
        .with_value(static_cast<std::int64_t>(text.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8U | static_cast<std::uint8_t>(text[i]);
  }
  const std::uint64_t room = text.size() - kLengthBytes;
  if (length > room || length > kMaxHeaderBytes) {
    return malformed(path, "the header's length is beyond the file or beyond any header")
        .with_value(fmt::format("{}", length))
        .with_limit(static_cast<std::int64_t>(std::min<std::uint64_t>(room, kMaxHeaderBytes)));
  }
  const std::string_view header = text.substr(kLengthBytes, length);
  if (!header.starts_with('{')) return malformed(path, "the header does not begin with \"{\"");
  return header;
}

Result<Json> parse_header_text(std::string_view text, const std::string& path) {
  Result<Json> document = codec::parse_json(text, path);
  if (document) return document;
  Error error = std::move(document).error();
  const bool of_tensor = error.code == ErrorCode::kDuplicateKey && error.value.index() == 0;
  error.code = of_tensor ? ErrorCode::kDuplicateName : ErrorCode::kMalformedSafetensors;
  return error;
}

/// A list of whole numbers from 0; nothing else.
std::optional<std::vector<std::int64_t>> whole_numbers(const Json& entry, std::string_view key) {
  const auto list = entry.find(key);
  if (list == entry.end() || !list->is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Json& number : *list) {
    const bool fits =
        number.is_number_unsigned() && number.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    if (!fits) return std::nullopt;
    numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

struct Entry {
  TensorView tensor;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Result<Entry> parse_entry(const std::string& name, const Json& entry, const std::string& path) {
  const auto problem = [&](std::string message) {
    return malformed(path, std::move(message)).at_key(name);
  };
  if (!entry.is_object()) return problem("a tensor's entry is not an object");
  for (const auto& [key, value] : entry.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return problem(fmt::format("a tensor's entry has the unknown key \"{}\"", key));
    }
  }
  const auto type = entry.find("dtype");
  const std::optional<DType> dtype = type != entry.end() && type->is_string()
                                         ? parse_dtype(type->get_ref<const std::string&>())
                                         : std::nullopt;
  if (!dtype) {
    return problem("the tensor's type is not known")
        .with_value(type != entry.end() ? type->dump() : "none");
  }
  const std::optional<std::vector<std::int64_t>> shape = whole_numbers(entry, "shape");
  if (!shape) return problem("the tensor's shape is not a list of whole numbers from 0");
  const std::optional<std::vector<std::int64_t>> range = whole_numbers(entry, "data_offsets");
  if (!range || range->size() != 2 || (*range)[0] > (*range)[1]) {
    return problem("the tensor's data_offsets are not a begin and an end");
  }
  const std::int64_t size = (*range)[1] - (*range)[0];
  const std::optional<std::int64_t> expected = tensor_bytes(*dtype, *shape);
  if (expected != size) {
    return problem("type and shape of the tensor do not make as many bytes as it has")
        .with_value(size)
        .with_limit(expected.value_or(INT64_MAX));
  }
  return Entry{{name, *dtype, *shape, {}}, (*range)[0], (*range)[1]};
}

Status parse_metadata(const Json& document, const std::string& path, TensorMetadata& metadata) {
  if (!document.is_object()) return malformed(path, "__metadata__ is not an object");
  for (const auto& [key, value] : document.items()) {
    if (!value.is_string()) {
      return malformed(path, "__metadata__ holds something else than texts").at_key(key);
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return {};
}

/// Tensors must follow each other without gap or overlap, to the last byte.
Status check_ranges(const std::vector<Entry>& entries, std::int64_t data_bytes,
                    const std::string& path) {
  std::int64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      return malformed(path, entry.begin < expected ? "the tensor overlaps the one before it"
                                                    : "there is a gap before the tensor")
          .at_key(entry.tensor.name)
          .with_value(entry.begin)
          .with_limit(expected);
    }
    expected = entry.end;
    if (expected > data_bytes) {
      return malformed(path, "the tensor lies beyond the end of the file: is it cut off?")
          .at_key(entry.tensor.name)
          .with_value(entry.end)
          .with_limit(data_bytes);
    }
  }
  if (expected == data_bytes) return {};
  return malformed(path, "bytes at the end of the file belong to no tensor")
      .with_value(data_bytes)
      .with_limit(expected);
}

}  // namespace

Result<TensorHeader> parse_tensor_header(std::span<const std::byte> file, const std::string& path) {
  OMNIBAL_ASSIGN(const std::string_view text, header_text(file, path));
  OMNIBAL_ASSIGN(const Json document, parse_header_text(text, path));
  TensorHeader header;
  std::vector<Entry> entries;
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      OMNIBAL_RETURN_IF_ERROR(parse_metadata(value, path, header.metadata));
      continue;
    }
    OMNIBAL_ASSIGN(Entry entry, parse_entry(name, value, path));
    entries.push_back(std::move(entry));
  }
  // An empty tensor stands before the one that begins where it does.
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  const std::span<const std::byte> data = file.subspan(kLengthBytes + text.size());
  OMNIBAL_RETURN_IF_ERROR(check_ranges(entries, static_cast<std::int64_t>(data.size()), path));
  for (Entry& entry : entries) {
    entry.tensor.bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                      static_cast<std::size_t>(entry.end - entry.begin));
    header.tensors.push_back(std::move(entry.tensor));
  }
  return header;
}

}  // namespace omnibal::runtime
