// SPDX-License-Identifier: Apache-2.0
#include "codec/npy_header.h"

#include <charconv>
#include <optional>

namespace omnibal::codec {
namespace {

/// Reads the dictionary literal that NumPy writes: three known keys, each once, in any order.
/// Nothing else of Python is understood.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : rest_(text) {}

  bool read(NpyHeader& header) {
    if (!take('{')) return false;
    while (!take('}')) {
      const std::optional<std::string> key = quoted();
      if (!key || !take(':') || !read_value(*key, header)) return false;
      if (!take(',') && !peek('}')) return false;
    }
    skip_blanks();
    return rest_.empty() && has_descr_ && has_order_ && has_shape_;
  }

 private:
  bool read_value(const std::string& key, NpyHeader& header) {
    if (key == "descr" && !has_descr_) {
      std::optional<std::string> descr = quoted();
      if (!descr) return false;
      header.descr = *std::move(descr);
      return has_descr_ = true;
    }
    if (key == "fortran_order" && !has_order_) {
      header.fortran_order = take("True");
      return has_order_ = header.fortran_order || take("False");
    }
    if (key == "shape" && !has_shape_) return has_shape_ = read_shape(header.shape);
    return false;
  }

  bool read_shape(std::vector<std::int64_t>& shape) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_blanks();
      std::int64_t extent = 0;
      const char* const end = rest_.data() + rest_.size();
      const auto [next, problem] = std::from_chars(rest_.data(), end, extent);
      if (problem != std::errc() || extent < 0) return false;
      rest_.remove_prefix(static_cast<std::size_t>(next - rest_.data()));
      shape.push_back(extent);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::optional<std::string> quoted() {
    skip_blanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool peek(char symbol) {
    skip_blanks();
    return rest_.starts_with(symbol);
  }
  bool take(char symbol) { return take(std::string_view(&symbol, 1)); }
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view rest_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

Error malformed_npy(const std::string& path, std::string message) {
  return Error(ErrorCode::kMalformedNpy, std::move(message)).in_file(path);
}

Result<NpyHeader> parse_npy_header(std::string_view file, const std::string& path) {
  constexpr std::size_t kVersionAt = 6;
  constexpr std::size_t kLengthAt = 8;
  const auto byte_at = [&](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(file[i])};
  };
  if (file.size() < kLengthAt) return malformed_npy(path, "the header is cut off");
  const std::size_t version = byte_at(kVersionAt);
  if (version < 1 || version > 2 || byte_at(kVersionAt + 1) != 0) {
    return malformed_npy(path, "the header is of another version than 1.0 and 2.0")
        .with_value(static_cast<std::int64_t>(version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < kLengthAt + length_bytes) return malformed_npy(path, "the header is cut off");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i > 0; --i) length = length << 8 | byte_at(kLengthAt + i - 1);
  const std::size_t text_at = kLengthAt + length_bytes;
  if (length > file.size() - text_at) {
    return malformed_npy(path, "the header is longer than the file")
        .with_value(static_cast<std::int64_t>(length))
        .with_limit(static_cast<std::int64_t>(file.size() - text_at));
  }
  NpyHeader header;
  if (!DictionaryReader(file.substr(text_at, length)).read(header)) {
    return malformed_npy(path, "the header is not a dictionary of descr, fortran_order and shape");
  }
  header.data_offset = text_at + length;
  return header;
}

}  // namespace omnibal::codec
