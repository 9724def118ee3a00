// SPDX-License-Identifier: Apache-2.0
#include "codec/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace omnibal::codec {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Status write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(ErrorCode::kWriteFailed, "cannot write the file", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<OpenFile> open_to_read(const std::string& path, int extra_flags, bool pipes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | extra_flags));
  if (fd.get() < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    if (absent) return Error(ErrorCode::kFileNotFound, "no such file").in_file(path);
    return system_error(ErrorCode::kFileUnreadable, "cannot open the file", path);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return system_error(ErrorCode::kFileUnreadable, "cannot inspect the file", path);
  }
  if (!S_ISREG(status.st_mode) && !(pipes && S_ISFIFO(status.st_mode))) {
    return Error(ErrorCode::kFileUnreadable,
                 std::string("a file is needed here, this is ") + kind_of(status.st_mode))
        .in_file(path)
        .with_hint("give a regular file, or \"-\" to read standard input");
  }
  return OpenFile{std::move(fd), static_cast<std::size_t>(status.st_size)};
}

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Error system_error(ErrorCode code, std::string message, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  return Error(code, std::move(message) + ": " + reason).in_file(path);
}

Result<OpenFile> open_regular(const std::string& path) {
  return open_to_read(path, O_NONBLOCK, false);
}

Result<OpenFile> open_regular_or_pipe(const std::string& path) {
  struct stat status {};
  // Opened without waiting, a FIFO whose writer is not there yet would be at its end at once.
  const bool waits = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  return open_to_read(path, waits ? 0 : O_NONBLOCK, true);
}

Status write_synced(const std::string& path, std::span<const std::span<const std::byte>> pieces,
                    bool exclusive) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : O_TRUNC);
  const FileDescriptor fd(::open(path.c_str(), flags, 0666));
  if (fd.get() < 0) return system_error(ErrorCode::kWriteFailed, "cannot create the file", path);
  for (const std::span<const std::byte> piece : pieces) {
    OMNIBAL_RETURN_IF_ERROR(write_all(fd.get(), piece, path));
  }
  if (::fsync(fd.get()) != 0) {
    return system_error(ErrorCode::kWriteFailed, "cannot sync the file", path);
  }
  return {};
}

Status sync_path(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) {
    return system_error(ErrorCode::kWriteFailed, "cannot sync to disk", path);
  }
  return {};
}

}  // namespace omnibal::codec
