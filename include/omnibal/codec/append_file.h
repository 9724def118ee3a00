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

  /// Empties or creates the file; "-": standard output. Pipes and devices are taken as they are.
  /// Error: kWriteFailed.
  static Result<AppendFile> create(const std::string& path);
  /// Cuts off what stands behind the mark. Errors: kFileNotFound, kFileUnreadable, kWriteFailed;
  /// kChecksumMismatch where the file is shorter or another: it is then left as it is.
  static Result<AppendFile> reopen(const std::string& path, const Mark& mark);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  /// Writes what is left, as far as it can be written.
  ~AppendFile();

  /// Buffered up to 64 KiB. Error: kWriteFailed, as of flush() and sync().
  Status append(std::string_view text);
  Status flush();
  /// Everything appended is on disk behind it. Of pipes and devices, which cannot be continued, the
  /// mark is empty.
  Result<Mark> sync();
  /// Whether writing failed because nobody reads the pipe any more. SIGPIPE must be ignored.
  bool reader_gone() const { return reader_gone_; }

 private:
  AppendFile(int fd, bool is_regular, std::string path);
  Status compare_with(const Mark& mark);

  int fd_ = -1;
  bool is_regular_ = false;
  std::string path_;
  std::string buffer_;
  std::int64_t bytes_ = 0;  // written
  std::string tail_;        // of them the last
  bool reader_gone_ = false;
};

}  // namespace omnibal::codec
