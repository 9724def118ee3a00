// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "codec/file_descriptor.h"

namespace omnibal::codec {

Result<std::string> read_file(const std::string& path) {
  constexpr std::size_t kLeastRoom = std::size_t{1} << 16;
  OMNIBAL_ASSIGN(ByteStream stream, ByteStream::open(path));
  std::string content;
  std::size_t used = 0;
  // One byte more than expected, so that the end is met without growing.
  content.resize(static_cast<std::size_t>(stream.size()) + 1);
  while (true) {
    OMNIBAL_ASSIGN(const std::size_t got, stream.read(std::span(content).subspan(used)));
    used += got;
    if (used < content.size()) break;
    content.resize(content.size() * 2 + kLeastRoom);
  }
  content.resize(used);
  return content;
}

ByteStream::ByteStream(int fd, std::int64_t size, std::string path)
    : fd_(fd), size_(size), path_(std::move(path)) {}

Result<ByteStream> ByteStream::open(const std::string& path, Accept accept) {
  if (path == "-") return ByteStream(STDIN_FILENO, 0, "standard input");
  OMNIBAL_ASSIGN(OpenFile file,
                 accept == Accept::kFiles ? open_regular(path) : open_regular_or_pipe(path));
  return ByteStream(file.fd.release(), static_cast<std::int64_t>(file.size), path);
}

ByteStream::ByteStream(ByteStream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), path_(std::move(other.path_)) {}

ByteStream& ByteStream::operator=(ByteStream&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

ByteStream::~ByteStream() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

Result<std::size_t> ByteStream::read(std::span<char> into) {
  std::size_t used = 0;
  while (used < into.size()) {
    OMNIBAL_ASSIGN(const std::size_t got, read_some(into.subspan(used)));
    if (got == 0) break;
    used += got;
  }
  return used;
}

Result<std::size_t> ByteStream::read_some(std::span<char> into) {
  while (true) {
    const ssize_t got = ::read(fd_, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return system_error(ErrorCode::kFileUnreadable, "cannot read", path_);
  }
}

Result<MappedFile> MappedFile::open(const std::string& path, std::size_t padding) {
  OMNIBAL_ASSIGN(const OpenFile file, open_regular(path));
  const std::size_t mapped_bytes = file.size + padding;
  if (mapped_bytes == 0) return MappedFile({}, 0);
  // Anonymous zero pages first, the file over them: what follows its last page is the padding.
  void* const start = ::mmap(nullptr, mapped_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return system_error(ErrorCode::kFileUnreadable, "cannot map the file into memory", path);
  }
  MappedFile mapped({static_cast<const std::byte*>(start), file.size}, mapped_bytes);
  if (file.size > 0 && ::mmap(start, file.size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.fd.get(),
                              0) == MAP_FAILED) {
    return system_error(ErrorCode::kFileUnreadable, "cannot map the file into memory", path);
  }
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (mapped_bytes_ == 0) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), mapped_bytes_);
}

}  // namespace omnibal::codec
