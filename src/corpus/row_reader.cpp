// SPDX-License-Identifier: Apache-2.0
#include "corpus/row_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace omnibal::corpus {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
/// Less than this of an element is looked through again with every piece that arrives.
constexpr std::size_t kPromptBytes = std::size_t{1} << 12;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_blank(char symbol) {
  return symbol == ' ' || symbol == '\n' || symbol == '\r' || symbol == '\t';
}

enum class Scan { kFound, kNeedsMore, kTooDeep };

/// Where the string that begins at `text[at]` ends; text.size() if it does not.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

/// The end of the JSON value at the beginning of `text`, by counting brackets outside of strings.
Scan scan_value(std::string_view text, std::size_t& end) {
  int depth = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char symbol = text[at];
    if (symbol == '"') {
      at = end_of_string(text, at);
      if (at == text.size() && depth > 0) return Scan::kNeedsMore;
      if (depth == 0) return end = at, Scan::kFound;
      continue;
    }
    const bool closes = symbol == '}' || symbol == ']';
    if (depth == 0 && at > 0 && (closes || symbol == ',' || is_blank(symbol))) {
      return end = at, Scan::kFound;  // the end of a number or word
    }
    ++at;
    if (symbol == '{' || symbol == '[') {
      if (++depth > RowReader::kMaxDepth) return Scan::kTooDeep;
    } else if (closes && --depth <= 0) {
      return end = at, Scan::kFound;
    }
  }
  return Scan::kNeedsMore;
}

std::optional<std::string_view> compression_of(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return "gzip";
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  if (bytes.starts_with("BZh")) return "bzip2";
  if (bytes.starts_with("\xfd"
                        "7zXZ"))
    return "xz";
  return std::nullopt;
}

}  // namespace

RowReader::RowReader(codec::ByteStream stream, std::string name, Progress progress)
    : stream_(std::move(stream)), name_(std::move(name)), progress_(std::move(progress)) {}

Result<RowReader> RowReader::open(const std::string& path, Progress progress, Accept accept) {
  OMNIBAL_ASSIGN(codec::ByteStream stream, codec::ByteStream::open(path, accept));
  RowReader reader(std::move(stream), path == "-" ? "standard input" : path, std::move(progress));
  OMNIBAL_RETURN_IF_ERROR(reader.fill());
  if (const auto compression = compression_of(reader.first_bytes())) {
    return Error(ErrorCode::kUnknownFormat,
                 fmt::format("the file is compressed with {}, which is not read", *compression))
        .in_file(reader.name_)
        .with_hint("decompress it, or pipe it in: zcat FILE | omnibal ... -");
  }
  return reader;
}

/// Moves what is left to the front and reads on: what there is, but where a long element is cut off
/// as much again as is left of it, so that it is looked through a few times only.
Status RowReader::fill() {
  const std::size_t left = filled_ - position_;
  if (position_ > 0) std::memmove(buffer_.data(), buffer_.data() + position_, left);
  position_ = 0;
  const auto known = static_cast<std::size_t>(stream_.size());
  const std::size_t window = known > 0 ? std::min(known + 1, kWindowBytes) : kWindowBytes;
  buffer_.resize(std::max(buffer_.size(), left * 2 + window + kPadding));
  const std::span<char> room(buffer_.data() + left, buffer_.size() - kPadding - left);
  const std::size_t least = bytes_read_ == 0 ? kMagicBytes : left < kPromptBytes ? 1 : left;
  std::size_t got = 0;
  while (got < least && !stream_ended_) {
    OMNIBAL_ASSIGN(const std::size_t more, stream_.read_some(room.subspan(got)));
    got += more;
    stream_ended_ = more == 0;
  }
  hasher_.add(std::string_view(room.data(), got));
  filled_ = left + got;
  bytes_read_ += static_cast<std::int64_t>(got);
  report(progress_, "reading " + name_, bytes_read_, stream_.size());
  return {};
}

Error RowReader::malformed(std::string reason) const {
  return Error(ErrorCode::kMalformedJson,
               fmt::format("malformed JSON at line {}: {}", line_, reason))
      .in_file(name_)
      .at_row(next_row_);
}

Status RowReader::skip_blanks() {
  while (true) {
    for (; !exhausted() && corpus::is_blank(current()); ++position_) {
      if (current() == '\n') ++line_;
    }
    if (!exhausted() || stream_ended_) return {};
    OMNIBAL_RETURN_IF_ERROR(fill());
  }
}

Status RowReader::begin() {
  begun_ = true;
  if (first_bytes().starts_with(kByteOrderMark)) position_ += kByteOrderMark.size();
  OMNIBAL_RETURN_IF_ERROR(skip_blanks());
  is_blank_ = done_ = exhausted();
  if (done_) return {};
  is_list_ = current() == '[';
  if (!is_list_) return {};
  ++position_;
  OMNIBAL_RETURN_IF_ERROR(skip_blanks());
  if (exhausted()) return malformed("the text ends inside of the list");
  done_ = current() == ']';
  return {};
}

/// What stands between two elements, up to the next one or the end.
Status RowReader::skip_separator() {
  const std::int64_t line_before = line_;
  OMNIBAL_RETURN_IF_ERROR(skip_blanks());
  if (!is_list_) {
    done_ = exhausted();
    if (done_ || line_ > line_before) return {};
    return malformed("a new line is needed between two samples");
  }
  if (exhausted()) return malformed("the text ends inside of the list");
  if (current() == ']') return done_ = true, Status();
  if (current() != ',') return malformed("a comma is needed between two samples");
  ++position_;
  OMNIBAL_RETURN_IF_ERROR(skip_blanks());
  if (exhausted()) return malformed("the text ends inside of the list");
  if (current() == ']') return malformed("a sample is needed behind the comma");
  return {};
}

Result<std::size_t> RowReader::find_end() {
  while (true) {
    const std::string_view text(buffer_.data() + position_, filled_ - position_);
    std::size_t end = text.size();
    const Scan scan = scan_value(text, end);
    if (scan == Scan::kTooDeep) {
      return malformed("nested too deeply").with_limit(std::int64_t{kMaxDepth});
    }
    if ((scan == Scan::kFound ? end : text.size()) > kMaxRowBytes) {
      return Error(ErrorCode::kOutOfRange, fmt::format("sample {} is too long a text", next_row_))
          .in_file(name_)
          .at_row(next_row_)
          .with_limit(static_cast<std::int64_t>(kMaxRowBytes));
    }
    // A word at the very end of the window may go on behind it.
    if (scan == Scan::kFound && (end < text.size() || stream_ended_ || text[0] == '{')) return end;
    if (stream_ended_) {
      if (text[0] != '{' && text[0] != '[' && text[0] != '"') return text.size();
      return malformed("the text ends before what begins here is closed");
    }
    OMNIBAL_RETURN_IF_ERROR(fill());
  }
}

/// Looks ahead while the value of `length` bytes at position_ stays in the buffer. More than
/// kMaxRowBytes of white space count as more content.
Result<bool> RowReader::only_blanks_behind(std::size_t length) {
  std::size_t ahead = length;
  while (ahead - length <= kMaxRowBytes) {
    while (position_ + ahead < filled_ && corpus::is_blank(buffer_[position_ + ahead])) ++ahead;
    if (position_ + ahead < filled_) return false;
    if (stream_ended_) return true;
    OMNIBAL_RETURN_IF_ERROR(fill());
  }
  return false;
}

Result<std::optional<RowText>> RowReader::next() {
  if (!begun_) {
    OMNIBAL_RETURN_IF_ERROR(begin());
  } else if (!done_) {
    OMNIBAL_RETURN_IF_ERROR(skip_separator());
  }
  if (done_) {
    if (is_list_ && !exhausted() && current() == ']') ++position_;
    OMNIBAL_RETURN_IF_ERROR(skip_blanks());
    if (!exhausted()) return malformed("more text behind the end of the list");
    return std::optional<RowText>();
  }
  OMNIBAL_ASSIGN(const std::size_t length, find_end());
  if (next_row_ == 0 && !is_list_) {
    OMNIBAL_ASSIGN(is_single_, only_blanks_behind(length));
  }
  const RowText row{{buffer_.data() + position_, length}, next_row_++, line_};
  line_ += std::count(row.text.begin(), row.text.end(), '\n');
  position_ += length;
  return std::optional<RowText>(row);
}

}  // namespace omnibal::corpus
