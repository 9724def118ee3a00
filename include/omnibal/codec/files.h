// SPDX-License-Identifier: Apache-2.0
//
// Whole files as bytes. A directory, device or, unless pipes are accepted, FIFO given where a file
// belongs is an error, never a hang.
//
//   OMNIBAL_ASSIGN(const std::string text, read_file("cluster.toml"));   // "-": standard input
//   OMNIBAL_ASSIGN(const MappedFile file, MappedFile::open("steps.npy"));
//   file.bytes();
//
// Not for writing: atomic_write.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "omnibal/base/result.h"

namespace omnibal::codec {

/// The content of a regular file, or of standard input if `path` is "-".
/// Errors: kFileNotFound, kFileUnreadable.
Result<std::string> read_file(const std::string& path);

/// A regular file, standard input or, where asked for, a pipe that has a name, read piece by piece
/// with memory of the caller's choice. Move-only.
class ByteStream {
 public:
  enum class Accept { kFiles, kPipesToo };
  /// Errors: kFileNotFound, kFileUnreadable. A FIFO waits for its writer.
  static Result<ByteStream> open(const std::string& path, Accept accept = Accept::kFiles);
  ByteStream(ByteStream&& other) noexcept;
  ByteStream& operator=(ByteStream&& other) noexcept;
  ~ByteStream();

  /// Fills `into` as far as there is content: fewer bytes only at the end. Error: kFileUnreadable.
  Result<std::size_t> read(std::span<char> into);
  /// What there is, at most `into`: waits only while there is nothing. 0 bytes: the end. Same
  /// error.
  Result<std::size_t> read_some(std::span<char> into);
  /// Bytes of the file; 0 where it is not known.
  std::int64_t size() const { return size_; }

 private:
  ByteStream(int fd, std::int64_t size, std::string path);
  int fd_ = -1;
  std::int64_t size_ = 0;
  std::string path_;
};

/// A read-only mapping of a regular file; unmapped on destruction. Move-only.
class MappedFile {
 public:
  /// `padding` zero bytes may be read behind the last byte of the file (SIMD parsers do so).
  /// Errors: kFileNotFound, kFileUnreadable.
  static Result<MappedFile> open(const std::string& path, std::size_t padding = 0);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile(std::span<const std::byte> bytes, std::size_t mapped_bytes)
      : bytes_(bytes), mapped_bytes_(mapped_bytes) {}
  std::span<const std::byte> bytes_;
  std::size_t mapped_bytes_ = 0;  // padding included; 0: nothing is mapped
};

}  // namespace omnibal::codec
