// SPDX-License-Identifier: Apache-2.0
//
// RowReader: cuts a JSON list or JSON Lines into its elements without holding more than one of
// them, however long the file or the line is. Private to the room.
//
//   OMNIBAL_ASSIGN(RowReader rows, RowReader::open("lengths.json", progress));
//   OMNIBAL_ASSIGN(const std::optional<RowText> row, rows.next());    // empty at the end
//
// Not a validator: an element is only known to have as many closing as opening brackets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/codec/files.h"
#include "omnibal/codec/hash.h"

namespace omnibal::corpus {

/// Valid until the next element is asked for; kPadding readable bytes follow the text.
struct RowText {
  std::string_view text;
  std::int64_t row = 0;   // from 0
  std::int64_t line = 1;  // from 1, where the element begins
};

class RowReader {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kMaxRowBytes = std::size_t{16} << 20;
  static constexpr int kMaxDepth = 200;

  using Accept = codec::ByteStream::Accept;
  /// Errors: kFileNotFound, kFileUnreadable, kUnknownFormat (compressed).
  static Result<RowReader> open(const std::string& path, Progress progress,
                                Accept accept = Accept::kFiles);

  /// Errors: kMalformedJson, kOutOfRange (a row over kMaxRowBytes), kFileUnreadable.
  Result<std::optional<RowText>> next();

  /// Whether the file is one JSON list. Known once `next` was called.
  bool is_list() const { return is_list_; }
  /// Whether the file holds nothing but white space. Known once `next` was called.
  bool is_blank() const { return is_blank_; }
  /// Whether the file holds one JSON value that is no list. Known once `next` was called.
  bool is_single() const { return is_single_; }
  /// XXH128 of all bytes read: of the file, once `next` has returned nothing.
  std::string hash() const { return hasher_.hex(); }
  /// As in errors: the path, or "standard input".
  const std::string& name() const { return name_; }
  /// The first bytes of the file, at most 16.
  std::string_view first_bytes() const { return {buffer_.data(), std::min(filled_, kMagicBytes)}; }

 private:
  static constexpr std::size_t kMagicBytes = 16;

  RowReader(codec::ByteStream stream, std::string name, Progress progress);
  Status fill();
  Status begin();
  Status skip_blanks();
  Status skip_separator();
  Result<std::size_t> find_end();
  Result<bool> only_blanks_behind(std::size_t length);
  char current() const { return buffer_[position_]; }
  bool exhausted() const { return position_ == filled_; }
  Error malformed(std::string reason) const;

  codec::ByteStream stream_;
  std::string name_;
  Progress progress_;
  codec::Hasher hasher_;
  std::vector<char> buffer_;  // filled_ bytes and then at least kPadding more
  std::size_t position_ = 0;  // of the next byte to look at
  std::size_t filled_ = 0;
  bool stream_ended_ = false;
  std::int64_t bytes_read_ = 0;
  std::int64_t line_ = 1;  // of position_
  std::int64_t next_row_ = 0;
  bool begun_ = false;
  bool is_list_ = false;
  bool is_blank_ = false;
  bool is_single_ = false;
  bool done_ = false;
};

}  // namespace omnibal::corpus
