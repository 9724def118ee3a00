// SPDX-License-Identifier: Apache-2.0
//
// FileDescriptor: an open file that closes itself, and the few system calls of room codec told as
// Status. Private to the room.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "omnibal/base/result.h"

namespace omnibal::codec {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// `code` with `message` and, behind it, what `errno` says.
Error system_error(ErrorCode code, std::string message, const std::string& path);

struct OpenFile {
  FileDescriptor fd;
  std::size_t size = 0;  // bytes, as the file system says
};

/// Opens a regular file to read. Never waits: a FIFO or device is refused instead.
/// Errors: kFileNotFound, kFileUnreadable.
Result<OpenFile> open_regular(const std::string& path);

/// Opens a regular file or a pipe, of size 0, whose writer a FIFO waits for. Same errors.
Result<OpenFile> open_regular_or_pipe(const std::string& path);

/// Creates `path` or empties it, writes `pieces` one after the other and syncs.
/// `exclusive`: kWriteFailed if it is there already.
Status write_synced(const std::string& path, std::span<const std::span<const std::byte>> pieces,
                    bool exclusive);

/// fsync of a file or directory.
Status sync_path(const std::string& path);

}  // namespace omnibal::codec
