// SPDX-License-Identifier: Apache-2.0
//
// Format: NumPy's own description, numpy/lib/format.py (NEP 1).
#include "omnibal/codec/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cstring>

#include "codec/file_descriptor.h"
#include "codec/npy_header.h"

namespace omnibal::codec {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are mapped as they lie on disk");

constexpr std::string_view kMagic = "\x93NUMPY";

struct DTypeInfo {
  DType dtype;
  std::string_view descr;
  std::int64_t bytes;
};

constexpr std::array kDTypes = {
    DTypeInfo{DType::kU1, "|u1", 1}, DTypeInfo{DType::kU2, "<u2", 2},
    DTypeInfo{DType::kU4, "<u4", 4}, DTypeInfo{DType::kI4, "<i4", 4},
    DTypeInfo{DType::kI8, "<i8", 8}, DTypeInfo{DType::kF8, "<f8", 8},
};

const DTypeInfo& info_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

/// Product of `shape` times `element_bytes`; nothing if it does not fit in 63 bits.
std::optional<std::int64_t> bytes_of(std::span<const std::int64_t> shape,
                                     std::int64_t element_bytes) {
  std::int64_t product = element_bytes;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

/// "(3,)", "(2, 3)", "()": a Python tuple.
std::string tuple_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// Magic, version, length and dictionary, byte for byte as numpy.save writes them: room for the
/// first extent to grow to 21 digits, then spaces and a newline up to a multiple of 64 bytes.
std::string header_text(DType dtype, std::span<const std::int64_t> shape) {
  constexpr std::size_t kGrowthDigits = 21;
  constexpr std::size_t kAlignment = 64;
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                       info_of(dtype).descr, tuple_text(shape));
  if (!shape.empty()) {
    dictionary.append(kGrowthDigits - fmt::formatted_size("{}", shape[0]), ' ');
  }
  const std::size_t prefix = kMagic.size() + 2 + 2;
  dictionary.append(kAlignment - (prefix + dictionary.size() + 1) % kAlignment, ' ');
  dictionary += '\n';
  const std::size_t length = dictionary.size();
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return header + dictionary;
}

}  // namespace

Result<NpyFile> NpyFile::open(const std::string& path) {
  OMNIBAL_ASSIGN(MappedFile mapped, MappedFile::open(path));
  NpyFile file(std::move(mapped));
  file.path_ = path;
  OMNIBAL_RETURN_IF_ERROR(file.parse_header(path));
  return file;
}

Status NpyFile::parse_header(const std::string& path) {
  const std::span<const std::byte> bytes = file_.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) {
    return malformed_npy(path, text.empty() ? "the file is empty" : "this is not a .npy file");
  }
  OMNIBAL_ASSIGN(const NpyHeader header, parse_npy_header(text, path));
  const DTypeInfo* info = nullptr;
  for (const DTypeInfo& candidate : kDTypes) {
    if (candidate.descr == header.descr) info = &candidate;
  }
  if (info == nullptr) {
    return malformed_npy(path, "the element type is none that is read here")
        .with_value(header.descr)
        .with_limit(std::string("|u1 <u2 <u4 <i4 <i8 <f8"));
  }
  if (header.fortran_order && header.shape.size() > 1) {
    return malformed_npy(path, "the array is in Fortran order, C order is needed")
        .with_hint("save numpy.ascontiguousarray(array)");
  }
  const std::optional<std::int64_t> expected = bytes_of(header.shape, info->bytes);
  const auto actual = static_cast<std::int64_t>(bytes.size() - header.data_offset);
  if (!expected || *expected != actual) {
    Error error =
        malformed_npy(path, fmt::format("shape {} of {} does not account for the file's data",
                                        tuple_text(header.shape), header.descr));
    error.value = actual;
    if (expected) error.limit = *expected;
    return error;
  }
  if (header.data_offset % static_cast<std::size_t>(info->bytes) != 0) {
    return malformed_npy(path, "the data do not begin at a multiple of the element size")
        .with_value(static_cast<std::int64_t>(header.data_offset));
  }
  dtype_ = info->dtype;
  shape_ = header.shape;
  data_offset_ = header.data_offset;
  return {};
}

Status NpyFile::expect(DType dtype, std::size_t num_dimensions) const {
  if (dtype != dtype_) {
    return malformed_npy(path_, "the elements are of another type than this file must have")
        .with_value(std::string(info_of(dtype_).descr))
        .with_limit(std::string(info_of(dtype).descr));
  }
  if (num_dimensions != shape_.size()) {
    return malformed_npy(path_,
                         "the array has another number of dimensions than this file must have")
        .with_value(static_cast<std::int64_t>(shape_.size()))
        .with_limit(static_cast<std::int64_t>(num_dimensions));
  }
  return {};
}

Status write_npy_bytes(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                       std::span<const std::byte> data) {
  assert(bytes_of(shape, info_of(dtype).bytes) == static_cast<std::int64_t>(data.size()));
  const std::string header = header_text(dtype, shape);
  const std::array<std::span<const std::byte>, 2> pieces = {std::as_bytes(std::span(header)), data};
  return write_synced(path, pieces, false);
}

}  // namespace omnibal::codec
