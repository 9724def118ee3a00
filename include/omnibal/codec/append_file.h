// SPDX-License-Identifier: Apache-2.0
//
// AppendFile: a file that grows line by line and can be continued after a crash from where it was
// known to be good.
//
//   OMNIBAL_ASSIGN(AppendFile file, AppendFile::create("steps.jsonl"));
//   OMNIBAL_RETURN_IF_ERROR(file.append("{...}\n"));
//   OMNIBAL_ASSIGN(const AppendFile::Mark mark, file.sync());    // keep it, then:
//   AppendFile::reopen("steps.jsonl", mark);
//
// Not for files that appear whole or not at all: atomic_write.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "omnibal/base/result.h"

namespace omnibal::codec {

class AppendFile {
 public:
  static constexpr std::size_t kTailBytes = 4096;

  /// What the file ends with at a moment: enough to know it again.
  struct Mark {
    std::int64_t bytes = 0;
    std::string tail_hash;  // XXH128 of its last bytes, at most kTailBytes
  };

  /// Creates the file, or takes the place of what it holds with the first flush; "-": standard
  /// output. Pipes and devices are taken as they are. Error: kWriteFailed.
  static Result<AppendFile> create(const std::string& path);
  /// Goes on behind the mark, with what stands there cut off by the first flush. A mark at 0 bytes
  /// tells nothing of the file: what it holds is replaced only if it begins with, or as, what is
  /// flushed first. Errors: kFileNotFound (unless the mark is at 0), kFileUnreadable, kWriteFailed;
  /// kChecksumMismatch where the file is shorter or another: it is then left as it is.
  static Result<AppendFile> reopen(const std::string& path, const Mark& mark);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  /// Writes what is left, as far as it can be written.
  ~AppendFile();

  /// Buffered up to 64 KiB. Errors, as of flush() and sync(): kWriteFailed; kChecksumMismatch (the
  /// file reopened at 0 bytes is another).
  Status append(std::string_view text);
  Status flush();
  /// Everything appended is on disk behind it. Of pipes and devices, which cannot be continued, the
  /// mark is empty.
  Result<Mark> sync();
  /// Nothing more comes. Errors: as flush(), also where nothing was appended to a file that was
  /// reopened at 0 bytes and holds something.
  Status finish();
  /// Whether writing failed because nobody reads the pipe any more. SIGPIPE must be ignored.
  bool reader_gone() const { return reader_gone_; }

 private:
  /// What stands in the file behind bytes_.
  enum class Behind {
    kNothing,
    kLeftover,  // of an earlier run: cut off by the first flush
    kUnknown,   // the same only if what is flushed first says so
  };

  AppendFile(int fd, bool is_regular, std::string path);
  static Result<AppendFile> open(const std::string& path, int flags);
  Status compare_with(const Mark& mark);
  Status compare_with_buffer();
  Status cut();

  int fd_ = -1;
  bool is_regular_ = false;
  std::string path_;
  std::string buffer_;
  std::int64_t bytes_ = 0;  // written
  std::string tail_;        // of them the last
  Behind behind_ = Behind::kNothing;
  bool reader_gone_ = false;
};

}  // namespace omnibal::codec
