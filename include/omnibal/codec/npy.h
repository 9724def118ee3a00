// SPDX-License-Identifier: Apache-2.0
//
// NumPy .npy files (little-endian, C order; format 1.0 written, 1.0 and 2.0 read), memory-mapped
// and checked: the header's shape must account for every byte of the file.
//
//   OMNIBAL_ASSIGN(const NpyFile file, NpyFile::open("steps.npy"));
//   OMNIBAL_ASSIGN(const std::span<const int64_t> ids, file.as<int64_t>(3));   // 3 dimensions
//
// Not for structured, big-endian or pickled arrays: they are refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/files.h"

namespace omnibal::codec {

enum class DType { kU1, kU2, kU4, kI4, kI8, kF8 };

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kU1;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kU2;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kU4;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kI4;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, double>) return DType::kF8;
}

class NpyFile {
 public:
  /// Errors: kFileNotFound, kFileUnreadable, kMalformedNpy.
  static Result<NpyFile> open(const std::string& path);

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }

  /// The elements in C order; kMalformedNpy if the file's type or number of dimensions is
  /// another. The span lives as long as this.
  template <class T>
  Result<std::span<const T>> as(std::size_t num_dimensions) const {
    OMNIBAL_RETURN_IF_ERROR(expect(dtype_of<T>(), num_dimensions));
    const std::span<const std::byte> payload = file_.bytes().subspan(data_offset_);
    return std::span<const T>(reinterpret_cast<const T*>(payload.data()),
                              payload.size() / sizeof(T));
  }

 private:
  explicit NpyFile(MappedFile file) : file_(std::move(file)) {}
  Status parse_header(const std::string& path);
  Status expect(DType dtype, std::size_t num_dimensions) const;

  MappedFile file_;
  std::string path_;
  DType dtype_ = DType::kU1;
  std::vector<std::int64_t> shape_;
  std::size_t data_offset_ = 0;
};

/// Writes `data` (product of `shape` elements, C order) to `path`, synced; not by rename: callers
/// write into a StagedDirectory. Error: kWriteFailed.
Status write_npy_bytes(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                       std::span<const std::byte> data);

template <class T>
Status write_npy(const std::string& path, std::span<const std::int64_t> shape,
                 std::span<const T> data) {
  return write_npy_bytes(path, dtype_of<T>(), shape, std::as_bytes(data));
}

}  // namespace omnibal::codec
