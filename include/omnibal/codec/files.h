// SPDX-License-Identifier: Apache-2.0
//
// Whole files as bytes. "-" is standard input. A directory, FIFO or device given where a file
// belongs is an error, never a hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "omnibal/base/result.h"

namespace omnibal::codec {

/// Errors: kFileNotFound, kFileUnreadable.
Result<std::string> read_file(const std::string& path);

/// A read-only mapping of a regular file; unmapped on destruction. Move-only.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace omnibal::codec
