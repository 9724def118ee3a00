// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "codec/file_descriptor.h"

namespace omnibal::codec {
namespace {

Result<std::string> read_to_end(int fd, std::size_t expected_bytes, const std::string& path) {
  constexpr std::size_t kLeastRoom = std::size_t{1} << 16;
  std::string content;
  std::size_t used = 0;
  content.resize(expected_bytes + 1);  // one more, so that the end is met without growing
  while (true) {
    if (content.size() - used == 0) content.resize(content.size() * 2 + kLeastRoom);
    const ssize_t got = ::read(fd, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(ErrorCode::kFileUnreadable, "cannot read", path);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  content.resize(used);
  return content;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_to_end(STDIN_FILENO, 0, "standard input");
  OMNIBAL_ASSIGN(const OpenFile file, open_regular(path));
  return read_to_end(file.fd.get(), file.size, path);
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
