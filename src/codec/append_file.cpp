// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "codec/file_descriptor.h"
#include "omnibal/codec/files.h"
#include "omnibal/codec/hash.h"

namespace omnibal::codec {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

Error another_file(const std::string& path, std::string why) {
  return Error(ErrorCode::kChecksumMismatch, std::move(why))
      .in_file(path)
      .with_hint("give the file that was written before, as it was left");
}

std::string_view text_of(const MappedFile& mapped) {
  return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
}

std::string hash_of(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

}  // namespace

AppendFile::AppendFile(int fd, bool is_regular, std::string path)
    : fd_(fd), is_regular_(is_regular), path_(std::move(path)) {}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      is_regular_(other.is_regular_),
      path_(std::move(other.path_)),
      buffer_(std::exchange(other.buffer_, "")),
      bytes_(other.bytes_),
      tail_(std::move(other.tail_)),
      behind_(other.behind_),
      reader_gone_(other.reader_gone_) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(is_regular_, other.is_regular_);
  std::swap(path_, other.path_);
  std::swap(buffer_, other.buffer_);
  std::swap(bytes_, other.bytes_);
  std::swap(tail_, other.tail_);
  std::swap(behind_, other.behind_);
  std::swap(reader_gone_, other.reader_gone_);
  return *this;
}

AppendFile::~AppendFile() {
  if (fd_ < 0) return;
  if (!buffer_.empty()) {
    const Status ignored = flush();
  }
  if (fd_ != STDOUT_FILENO) ::close(fd_);
}

Result<AppendFile> AppendFile::create(const std::string& path) {
  OMNIBAL_ASSIGN(AppendFile file, open(path, O_CREAT));
  if (file.is_regular_) file.behind_ = Behind::kLeftover;
  return file;
}

Result<AppendFile> AppendFile::reopen(const std::string& path, const Mark& mark) {
  OMNIBAL_ASSIGN(AppendFile file, open(path, mark.bytes == 0 ? O_CREAT : 0));
  if (file.is_regular_) OMNIBAL_RETURN_IF_ERROR(file.compare_with(mark));
  return file;
}

/// Without changing what it holds.
Result<AppendFile> AppendFile::open(const std::string& path, int flags) {
  if (path == "-") return AppendFile(STDOUT_FILENO, false, "standard output");
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (fd.get() < 0) {
    if (errno == ENOENT && flags == 0) {
      return Error(ErrorCode::kFileNotFound, "the file to be continued is not there").in_file(path);
    }
    return system_error(ErrorCode::kWriteFailed, "cannot open the file to write", path);
  }
  const bool regular = is_regular(fd.get());
  return AppendFile(fd.release(), regular, path);
}

/// Takes over bytes and tail of the mark where the file has them.
Status AppendFile::compare_with(const Mark& mark) {
  OMNIBAL_ASSIGN(const MappedFile mapped, MappedFile::open(path_));
  const std::string_view content = text_of(mapped);
  const auto size = static_cast<std::int64_t>(content.size());
  if (size < mark.bytes) {
    return another_file(path_, "the file is shorter than it was left")
        .with_value(size)
        .with_limit(mark.bytes);
  }
  const std::string_view text = content.substr(0, static_cast<std::size_t>(mark.bytes));
  const std::string_view tail = text.substr(text.size() - std::min(text.size(), kTailBytes));
  if (mark.bytes > 0 && hash_of(tail) != mark.tail_hash) {
    return another_file(path_, "this is not the file that was left");
  }
  bytes_ = mark.bytes;
  tail_ = tail;
  if (size > 0) behind_ = mark.bytes > 0 ? Behind::kLeftover : Behind::kUnknown;
  return {};
}

/// Whether the file of which nothing is known begins with, or as, what is to be written.
Status AppendFile::compare_with_buffer() {
  OMNIBAL_ASSIGN(const MappedFile mapped, MappedFile::open(path_));
  const std::string_view content = text_of(mapped);
  const std::size_t common = std::min(content.size(), buffer_.size());
  if (content.empty() || (common > 0 && content.starts_with(buffer_.substr(0, common)))) return {};
  return Error(ErrorCode::kChecksumMismatch,
               "the file holds something else than what is to be written: not replaced")
      .in_file(path_)
      .with_hint("give another name, or remove the file");
}

/// Removes what stands behind bytes_.
Status AppendFile::cut() {
  if (behind_ == Behind::kUnknown) OMNIBAL_RETURN_IF_ERROR(compare_with_buffer());
  if (::ftruncate(fd_, bytes_) != 0 || ::lseek(fd_, bytes_, SEEK_SET) < 0) {
    return system_error(ErrorCode::kWriteFailed, "cannot cut the file", path_);
  }
  behind_ = Behind::kNothing;
  return {};
}

Status AppendFile::append(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < kBufferBytes ? Status() : flush();
}

Status AppendFile::flush() {
  const bool cuts =
      behind_ == Behind::kLeftover || (behind_ == Behind::kUnknown && !buffer_.empty());
  if (cuts) OMNIBAL_RETURN_IF_ERROR(cut());
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      reader_gone_ = errno == EPIPE;
      Error error = system_error(ErrorCode::kWriteFailed, "cannot write the file", path_);
      buffer_.erase(0, buffer_.size() - rest.size());
      return error;
    }
    const std::string_view done = rest.substr(0, static_cast<std::size_t>(written));
    bytes_ += written;
    tail_ += done;
    rest.remove_prefix(done.size());
  }
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  buffer_.clear();
  return {};
}

Result<AppendFile::Mark> AppendFile::sync() {
  OMNIBAL_RETURN_IF_ERROR(flush());
  if (!is_regular_) return Mark{};
  if (::fsync(fd_) != 0) {
    return system_error(ErrorCode::kWriteFailed, "cannot sync the file", path_);
  }
  return Mark{bytes_, hash_of(tail_)};
}

Status AppendFile::finish() {
  OMNIBAL_RETURN_IF_ERROR(flush());
  return behind_ == Behind::kUnknown ? compare_with_buffer() : Status();
}

}  // namespace omnibal::codec
